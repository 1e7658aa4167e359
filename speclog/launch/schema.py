"""The typed tables of a profile: which keys there are, what they mean, and how a value is checked."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from speclog.errors import UsageError

T = TypeVar("T")


def key(about: str, default: Any = "", choices: tuple[str, ...] = (), low: float | None = None) -> Any:
    """Declare a key: what it means, its default, the words it may take, its least value."""
    meta = {"about": about, "choices": choices, "low": low}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=meta)
    return field(default=default, metadata=meta)


@dataclass(frozen=True)
class Models:
    """Table ``[models]``: what ``{target}`` and ``{draft}`` stand for in the server arguments."""

    target: str = key("directory or hub id of the model that is served")
    draft: str = key("directory or hub id of the draft model")
    dummy: str = key(
        "make target and draft without weights, of this shape", choices=("", "nano", "tiny", "8b")
    )


@dataclass(frozen=True)
class Workload:
    """Table ``[workload]``: what ``sglang.bench_serving`` sends, once for each batch size."""

    backend: str = key("bench_serving backend", "sglang")
    dataset: str = key("bench_serving data set", "random-ids")
    dataset_path: str = key("file of the data set, where it needs one")
    input_len: int = key("prompt length (tokens)", 1024, low=1)
    output_len: int = key("generated length (tokens)", 1024, low=1)
    batch_sizes: list[int] = key("concurrent requests, one step each", [1], low=1)  # noqa: RUF009
    waves: int = key("requests of a step = waves x batch size", 2, low=1)
    num_prompts: int = key("requests of a step, whatever the batch size; 0: by waves", 0, low=0)
    seed: int = key("seed of the prompts", 42)
    token_prompts: bool = key("send token ids, so that every prompt has its exact length", False)
    flush_cache: bool = key("empty the prefix cache before each step", True)
    request_rate: float = key("requests per second; 0: all at once", 0.0, low=0)
    ignore_eos: bool = key("generate to the full length", True)
    temperature: float = key("sampling temperature", 0.0, low=0)
    warmup_output_len: int = key(
        "generated length of the warm-up at each batch size; 0: no warm-up", 64, low=0
    )
    extra_args: list[str] = key("further arguments of bench_serving", [])  # noqa: RUF009

    def prompts(self, batch_size: int) -> int:
        """Requests of the step at this batch size."""
        return self.num_prompts or self.waves * batch_size


@dataclass(frozen=True)
class Options:
    """Table ``[launch]``: how the session is run."""

    python: str = key("interpreter that has SGLang; empty: the one speclog runs in")
    module: str = key("module that is the server", "sglang.launch_server")
    sglang: str = key("versions of SGLang this profile is for, as '>=0.5.10,<0.6'")
    pythonpath: list[str] = key("folders for PYTHONPATH, relative to the profile", [])  # noqa: RUF009
    profiler: bool = key("load the EAGLE3_PROFILE plugin", False)
    boot_timeout_s: float = key("longest wait until the server is ready (s)", 1800.0, low=1)
    step_timeout_s: float = key("longest time of a workload step (s)", 3600.0, low=1)
    stop_grace_s: float = key("time to drain before the server is killed (s)", 60.0, low=0)
    repeat: int = key("sessions per arm", 1, low=1)
    check_names: bool = key("reject server arguments no known SGLang version has", True)


def fill(kind: type[T], table: Mapping[str, Any], where: Mapping[str, str]) -> T:
    """Make a ``Models``, ``Workload`` or ``Options`` of a TOML table.

    ``where`` says for each key which file and line it came from. Raises UsageError on an unknown key (with
    the nearest name), a value of another type, one out of range, or a word that is not allowed.
    """
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for name, value in table.items():
        place = where.get(name, "command line")
        if name not in known:
            raise UsageError(f"{place}: unknown key '{name}'{nearest(name, known)}")
        check(name, value, known[name], place)
    return kind(**{n: _widen(v, str(known[n].type)) for n, v in table.items()})


def check(name: str, value: Any, declared: Any, place: str) -> None:
    """Raise UsageError unless ``value`` fits the declared field."""
    kind = getattr(declared.type, "__name__", str(declared.type))
    kind = str(declared.type) if kind == "list" else kind
    if not _fits(value, kind):
        raise UsageError(f"{place}: {name} must be {_ARTICLE[kind]}, not {value!r}")
    choices, low = declared.metadata["choices"], declared.metadata["low"]
    if choices and value not in choices:
        raise UsageError(f"{place}: {name} must be one of {', '.join(filter(None, choices))}, not {value!r}")
    if low is not None and any(item < low for item in (value if isinstance(value, list) else [value])):
        raise UsageError(f"{place}: {name} must be at least {low:g}, not {value!r}")


_ARTICLE = {
    "str": "text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list[int]": "a list of whole numbers",
    "list[str]": "a list of texts",
}


def _fits(value: Any, kind: str) -> bool:
    if kind.startswith("list["):
        return isinstance(value, list) and bool(all(_fits(v, kind[5:-1]) for v in value))
    if isinstance(value, bool):
        return kind == "bool"
    wanted = {"str": str, "int": int, "float": (int, float), "bool": bool}[kind]
    return isinstance(value, wanted)  # type: ignore[arg-type]


def _widen(value: Any, kind: str) -> Any:
    return (
        float(value) if isinstance(value, int) and not isinstance(value, bool) and "float" in kind else value
    )


def nearest(name: str, names: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the closest of ``names``, or nothing when none is close."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def parse_text(text: str, declared: Any) -> Any:
    """A value given on the command line (``--set``), by the declared type of its key.

    Returns the text itself where it does not parse, so that ``check`` says what was expected.
    """
    kind = str(declared.type) if "list" in str(declared.type) else declared.type.__name__
    return parse_kind(text, {"list[int]": "list", "list[str]": "words"}.get(kind, kind))


def parse_kind(text: str, kind: str) -> Any:
    """Text to a value of kind bool, int, float, list (numbers where they parse), words or str."""
    if kind in {"list", "words"}:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return parts if kind == "words" else [parse_kind(part, "int") for part in parts]
    if kind == "bool":
        return {"true": True, "false": False, "1": True, "0": False}.get(text.lower(), text)
    if kind in {"int", "float"}:
        try:
            return int(text) if kind == "int" else float(text)
        except ValueError:
            return text
    return text
