"""Reports: one self-contained page, or the same content as Markdown or JSON."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from speclog.errors import UsageError
from speclog.threads import taking_turns

if TYPE_CHECKING:
    from speclog.report.model import Report
    from speclog.report.sides import Sides
    from speclog.store import Store

FORMATS = {"html": "html", "md": "md", "json": "json"}


def write_report(
    store_target: str,
    *,
    vs: str,
    candidates: Sequence[str] | None = None,
    fmt: str = "html",
    out_dir: str | Path = "reports",
    lock_timeout: float = 20.0,
    templates: Path | None = None,
    command: str = "speclog report",
    cross_engine: bool = False,
) -> Path:
    """Write the report of ``candidates`` (None: every speculative run) against ``vs``; return its path.

    ``fmt`` is ``html``, ``md`` or ``json``. The file name says what was compared, so that the same call
    writes the same file. ``cross_engine``: with runs of another engine too, and labelled so. Raises
    UsageError for an unknown run or format, StoreError when the store cannot be read.
    """
    text = report_text(
        store_target,
        vs=vs,
        candidates=candidates,
        fmt=fmt,
        lock_timeout=lock_timeout,
        templates=templates,
        command=command,
        cross_engine=cross_engine,
    )
    return save_report(
        text, vs=vs, candidates=candidates, fmt=fmt, out_dir=out_dir, cross_engine=cross_engine
    )


def save_report(
    text: str,
    *,
    vs: str,
    candidates: Sequence[str] | None,
    fmt: str,
    out_dir: str | Path,
    cross_engine: bool = False,
) -> Path:
    """Write a report's text under the name that says what it compares; return its path."""
    stem = f"{file_stem(vs, candidates)}{'-cross-engine' if cross_engine else ''}"
    path = Path(out_dir) / f"{stem}.{FORMATS[fmt]}"
    write_whole(path, text)
    return path


def report_text(
    store_target: str,
    *,
    vs: str,
    candidates: Sequence[str] | None = None,
    fmt: str = "html",
    lock_timeout: float = 20.0,
    templates: Path | None = None,
    command: str = "speclog report",
    cross_engine: bool = False,
) -> str:
    """The report as text; arguments and errors as in `write_report`."""
    from speclog.report import ahead, progress
    from speclog.store import snapshot

    if fmt not in FORMATS:
        raise UsageError(f"{fmt}: no such format; one of {', '.join(FORMATS)}")
    # Loading what makes a page takes as long as the tables that DuckDB makes meanwhile, outside of Python.
    # Any sooner, beside loading DuckDB itself, it would only keep that waiting.
    with (
        taking_turns(),
        ThreadPoolExecutor(1, thread_name_prefix="imports") as loader,
        progress.progress_bar() as step,
    ):
        loading: list[Future[None]] = []
        looking: list[Future[Sides]] = []

        def load() -> None:
            loading.append(loader.submit(_load))
            loader.submit(_load_libraries)

        def look(store: Store, view: str) -> None:
            if view != "run":
                return
            if named := ahead.named(store, vs, candidates):
                looking.append(loader.submit(ahead.look, store.target, named, lock_timeout))
            loader.submit(_load_templates)  # needed last of all

        def make(store: Store) -> Report:
            loading[0].result()
            from speclog.report.gather import gather

            return gather(
                store,
                vs=vs,
                candidates=candidates,
                command=command,
                cross_engine=cross_engine,
                step=step,
                ahead=looking[0] if looking else None,
            )

        report = snapshot.read(store_target, make, lock_timeout=lock_timeout, opened=load, made=look)
        from speclog.report import as_json, markdown, render

        step("writing", 0.9)
        if fmt == "html":
            return render.html(report, templates=templates)
        return as_json.text(report) if fmt == "json" else markdown.text(report)


def _load() -> None:
    """Import what a report is made with."""
    from speclog.report import as_json, gather, markdown, render  # noqa: F401


def _load_libraries() -> None:
    """Import the libraries that statistics need later; whoever needs one sooner waits for it.

    They import nothing of speclog: the two threads cannot wait for each other.
    """
    import numpy  # noqa: F401
    import polars  # noqa: F401


def _load_templates() -> None:
    """Import what the page is written with; as `_load_libraries`."""
    import jinja2  # noqa: F401


def write_index(
    store_target: str,
    *,
    out_dir: str | Path = "reports",
    lock_timeout: float = 20.0,
    templates: Path | None = None,
) -> Path:
    """Write ``index.html`` of a folder: its reports, every run of the store, trends; return its path."""
    from speclog.report import render
    from speclog.report.index import FILE_NAME, gather_index
    from speclog.report.model import Chart
    from speclog.store import snapshot

    folder = Path(out_dir)
    index = snapshot.read(
        store_target,
        lambda store: gather_index(store, folder),
        lock_timeout=lock_timeout,
        views=snapshot.OF_RUNS,
    )
    charts = [chart for chart in index.trends if isinstance(chart, Chart)]
    text = render.page("index.html.j2", {"index": index}, charts=charts, templates=templates)
    write_whole(folder / FILE_NAME, text)
    return folder / FILE_NAME


def file_stem(vs: str, candidates: Sequence[str] | None) -> str:
    """A stable file name: ``all-vs-baseline``, ``eagle3-5x6-vs-baseline-fresh``.

    Where it cannot say all that was asked for (a glob, a path, a long list) it ends in a hash of that.
    """
    what = "+".join(candidates) if candidates else "all"
    whole = f"{what}-vs-{vs}"
    stem = re.sub(r"[^\w.+-]+", "_", whole)[:120].strip("._")
    if stem == whole and not any("+" in one for one in candidates or ()):
        return stem
    asked = "\0".join([vs, *(candidates or ["all"])])
    return f"{stem or 'report'}-{hashlib.sha256(asked.encode('utf-8', 'replace')).hexdigest()[:6]}"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader never sees half of it, and nothing else is left behind.

    Raises UsageError when the file cannot be written, or is a store.
    """
    from speclog import whole

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole.write(path, text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
