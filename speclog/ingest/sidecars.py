"""Files beside a log that belong to it by name: ``/server_info`` JSON and client benchmark results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from speclog.formats.bench import read_jsonl_line, read_tables
from speclog.formats.server_args import recorded
from speclog.formats.values import json_value, whole_number
from speclog.ingest.doubts import doubts
from speclog.ingest.session import Session
from speclog.ingest.sources import read_once

_LOG_ENDINGS = (".gz", ".zst", ".zstd", ".log", ".out", ".err", ".txt")


def stem(path: str) -> str:
    """A log's name without directory and endings (``a.log.gz`` -> ``a``)."""
    name = Path(path).name
    for ending in _LOG_ENDINGS:
        name = name.removesuffix(ending)
    return name or Path(path).name


def find(path: str) -> list[Path]:
    """The sidecars of a log: ``<stem>.server_info.json``, ``<stem>.bench*.jsonl``, ``<stem>.bench*.txt``."""
    if read_once(path):
        return []
    folder, name = Path(path).parent, stem(path)
    found = [folder / f"{name}.server_info.json"]
    start = f"{name}.bench"
    siblings = sorted(folder.iterdir()) if folder.is_dir() else []
    found += [p for p in siblings if p.name.startswith(start) and p.suffix in {".jsonl", ".txt"}]
    return [p for p in found if p.is_file()]


def take(session: Session, path: Path) -> str | None:
    """Read a sidecar into a session; the reason in words when it cannot be read."""
    if path.resolve().parent != path.parent.resolve():
        return f"{path}: a link that leads out of its directory: not read"
    if path.stat().st_size > _MAX_STANDALONE:
        return f"{path}: more than {_MAX_STANDALONE >> 20} MiB: not read"
    try:
        data = path.read_bytes()
    except OSError as error:
        return f"{path}: {error.strerror}"
    session.sidecars.append(path.name)
    session.digest.update(data)
    text = data.decode("utf-8", "replace")
    if path.name.endswith(".server_info.json"):
        return _server_info(session, path, text)
    rows = list(_bench_rows(session, path, text))
    if not rows:
        return f"{path}: no benchmark result in it"
    known = {_same(row) for row in session.bench_rows}
    session.bench_rows += [row for row in rows if _same(row) not in known]
    return None


def standalone(path: str) -> Session | None:
    """A session of client results or a ``/server_info`` object alone; None when the file holds neither."""
    file = Path(path)
    if read_once(path) or file.stat().st_size > _MAX_STANDALONE:
        return None
    text = file.read_text(encoding="utf-8", errors="replace")
    size = file.stat().st_size
    session = Session(0, 1, engine="sglang", identity=text, last_line=text.count("\n") + 1, size=size)
    rows = list(_bench_rows(session, file, text))
    if not rows and not _server_info_alone(session, text):
        return None
    session.bench_rows = _once(rows)
    session.digest.update(text.encode())
    return session


_MAX_STANDALONE = 64 << 20


def _server_info_alone(session: Session, text: str) -> bool:
    try:
        info = json_value(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(info, dict) or "model_path" not in info or "version" not in info:
        return False
    take_info(session, info, "server_info")
    return True


def _once(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({_same(row): row for row in reversed(rows)}.values())[::-1]


def _same(row: dict[str, Any]) -> tuple[object, ...]:
    """The table and the JSONL line of one result agree in what the table prints (two decimals)."""
    numbers = (row.get("duration_s"), row.get("output_tok_s"))
    return (
        row["tool"], row.get("completed"), row.get("total_output_tokens"), row.get("max_concurrency"),
        *(None if n is None else round(n, 2) for n in numbers),
    )  # fmt: skip


def _server_info(session: Session, path: Path, text: str) -> str | None:
    try:
        info = json_value(text)
    except (ValueError, RecursionError) as error:
        return f"{path}: not JSON ({error})"
    if not isinstance(info, dict):
        return f"{path}: not a /server_info object"
    take_info(session, info, "server_info")
    return None


def take_info(session: Session, info: dict[str, Any], source: str) -> None:
    """Version and capacity from a ``/server_info`` object; its arguments only if the log printed none.

    The object repeats arguments after the server changed some, so it must not mix with the log's own.
    """
    session.set_version(info.get("version"), source)
    states = info.get("internal_states")
    state = states[0] if isinstance(states, list) and states and isinstance(states[0], dict) else info
    for name, value in (
        ("kv_tokens", info.get("max_total_num_tokens")),
        ("max_running_requests", state.get("effective_max_running_requests_per_dp")),
    ):
        if value is not None:
            session.set_fact(name, value, source)
    if session.args:
        return
    skip = {"internal_states", "version", "status", "max_total_num_tokens", "max_req_input_len", "kv_events"}
    session.args = {name: recorded(name, value) for name, value in info.items() if name not in skip}
    session.args_source, session.args_line = "server_info", None


def _bench_rows(session: Session, path: Path, text: str) -> Iterator[dict[str, Any]]:
    ceiling = _ceiling(session)
    if path.suffix in {".jsonl", ".json"}:
        for no, line in enumerate(text.splitlines(), 1):
            found = read_jsonl_line(line)
            if found is None:
                continue
            row, data = found
            if isinstance(data.get("server_info"), dict):
                take_info(session, data["server_info"], "bench")
            yield row | {"source": path.name, "line_no": no, "doubts": doubts(row, ceiling)}
    else:
        for no, row in read_tables(text.splitlines()):
            yield row | {"source": path.name, "line_no": no, "doubts": doubts(row, ceiling)}


def _ceiling(session: Session) -> int | None:
    if session.args.get("speculative_adaptive") == "true":
        return None  # its arguments say with how many steps it begins
    steps = session.args.get("speculative_num_steps", "null")
    number = whole_number(steps)
    return None if number is None else number + 1
