"""Pages from the data model: Jinja2 with autoescape, everything inlined, a security policy by hash."""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
import json
import os
import shlex
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speclog import resources
from speclog.errors import UsageError
from speclog.report import numbers, sources, terms, vega, words
from speclog.report.gather import BRIEF, MANY
from speclog.report.model import Absent, Chart, Data, Report

if TYPE_CHECKING:
    import jinja2

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
TABLE_LIMIT = 60
"""A table behind a chart with more rows than this is built when it is opened, not written twice."""


def html(report: Report, *, templates: Path | None = None) -> str:
    """The report as one self-contained page."""
    return page("report.html.j2", {"report": report}, charts=_charts(report), templates=templates)


def page(
    template: str, values: Mapping[str, Any], *, charts: Sequence[Chart] = (), templates: Path | None = None
) -> str:
    """Render a template into a self-contained page: styles, scripts, specs, data inside, nothing fetched.

    Raises UsageError for a template of the user's that does not work.
    """
    env = environment(templates)
    with _told(templates):
        return _rendered(env, template, values, charts)


def _rendered(
    env: jinja2.Environment, template: str, values: Mapping[str, Any], charts: Sequence[Chart]
) -> str:
    loader = env.loader
    assert loader is not None  # environment() sets it
    style = loader.get_source(env, "report.css")[0]
    scripts = [loader.get_source(env, "report.js")[0]]
    if charts:
        scripts.insert(0, vega.bundle())
    return env.get_template(template).render(
        **values,
        charts=charts,
        style=_raw(style),
        scripts=[_raw(script) for script in scripts],
        specs=_raw(embedded_json({chart.key: _spec(chart) for chart in charts})),
        csp=_policy(style, scripts),
    )


@contextlib.contextmanager
def _told(templates: Path | None) -> Iterator[None]:
    """Turn what goes wrong in a template of the user's into a UsageError with its file and line."""
    import jinja2

    try:
        yield
    except jinja2.TemplateSyntaxError as error:
        raise UsageError(f"{error.filename or error.name}:{error.lineno}: {error.message}") from error
    except jinja2.TemplateNotFound as error:
        raise UsageError(
            f"{_place(error, templates) or templates}: no template is called {error.name}"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{templates}: a template there is not UTF-8: {error}") from error
    except Exception as error:  # what its expressions raise, by the frame that raised it
        place = _place(error, templates)
        if place is None:
            raise
        raise UsageError(f"{place}: {error}") from error


def _place(error: Exception, templates: Path | None) -> str | None:
    """``file:line`` of the user's template that was being rendered; None when it was none."""
    own = _own(templates)
    found = [
        f"{frame.filename}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if any(frame.filename.startswith(f"{folder}{os.sep}") for folder in own)
    ]
    return found[-1] if found else None


def _own(templates: Path | None) -> list[Path]:
    """Where a user's own templates are looked for, in this order."""
    config = resources.config_directory()
    return [folder for folder in (templates, config and config / "templates") if folder]


def _compiled() -> str | None:
    """A folder that keeps compiled templates: to compile the shipped ones takes most of a second."""
    cache = resources.cache_directory()
    if cache is None:
        return None
    room = cache / "templates"
    with contextlib.suppress(OSError):
        room.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(room) if os.access(room, os.W_OK) else None


def environment(templates: Path | None = None) -> jinja2.Environment:
    """The Jinja2 environment: autoescape always on, an unknown name is an error.

    A template is looked for in ``templates``, then in ``$XDG_CONFIG_HOME/speclog/templates``, then among
    those shipped.
    """
    import jinja2

    folders = [*_own(templates), resources.directory("templates")]
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader([str(folder) for folder in folders]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=jinja2.FileSystemBytecodeCache(room) if (room := _compiled()) else None,
    )
    env.globals.update(
        numbers=numbers, terms=terms, words=words, is_chart=lambda item: isinstance(item, Chart)
    )
    env.globals.update(table_limit=TABLE_LIMIT, brief_judged=BRIEF, many=MANY)
    env.filters.update(
        csv=csv_text, cell=cell, quote=shlex.quote, lines_command=lines_command, on_store=sources.on_store
    )
    return env


def _charts(report: Report) -> list[Chart]:
    return [chart for section in report.sections for chart in section.charts if isinstance(chart, Chart)]


def _spec(chart: Chart) -> dict[str, Any]:
    return {"spec": chart.spec, "data": [data.name for data in chart.data], "label": chart.alt}


def embedded_json(value: Any) -> str:
    """JSON that may stand inside a ``<script>`` element: no character of it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def csv_text(data: Data) -> str:
    """The rows as CSV (RFC 4180); text that a spreadsheet would run as a formula gets an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(data.columns)
    writer.writerows(zip(*map(_csv_column, zip(*data.rows, strict=True)), strict=True))
    return out.getvalue()


def _csv_column(values: Sequence[Any]) -> Iterable[Any]:
    """The values of a column as `_csv_value` has them; most columns are of one type."""
    types = set(map(type, values))
    if types <= {int, bool}:
        return values
    return [repr(round(value, 6)) for value in values] if types == {float} else map(_csv_value, values)


def _csv_value(value: Any) -> Any:
    if isinstance(value, float):
        return repr(round(value, 6))
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def cell(value: Any) -> str:
    """A value in a table behind a chart."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def lines_command(where: str | None, source: str = "") -> str:
    """``base.log:12-480`` as the command that prints those lines, decompressed as an ingest does it.

    ``source`` is the log's path as it was ingested; empty for what came from a pipe, or is not known: then
    there is no command.
    """
    _, _, span = (where or "").rpartition(":")
    first, _, last = span.partition("-")
    if source in ("", "-") or not first.isdigit() or not (last or first).isdigit():
        return ""
    path = shlex.quote(source if not source.startswith("-") else f"./{source}")
    lines = f"sed -n '{first},{last or first}p'"
    packed = next((tool for ending, tool in _UNPACK.items() if source.endswith(ending)), None)
    return f"{packed} -- {path} | {lines}" if packed else f"{lines} {path}"


_UNPACK = {".gz": "zcat", ".zst": "zstdcat", ".zstd": "zstdcat"}


def _policy(style: str, scripts: Sequence[str]) -> str:
    """A policy under which only the page's own scripts and styles run and nothing is fetched."""
    sources = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {sources}; style-src 'sha256-{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _raw(text: str) -> Any:
    """Text of this package that is HTML-safe already; never text from a log."""
    import markupsafe

    return markupsafe.Markup(text)


__all__ = ["Absent", "csv_text", "embedded_json", "environment", "html", "page"]
