"""Profiles: what a session is, from TOML files that extend one another, overlays and the command line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from speclog.errors import UsageError
from speclog.launch import schema, server_args
from speclog.launch.environment import UNSET, is_count, is_secret_name, is_secret_option, scrub
from speclog.launch.schema import Models, Options, Workload, nearest
from speclog.launch.source import Source, find, read

TABLES = ("models", "server", "env", "unset", "workload", "launch", "evidence")
EVIDENCE = ("gpu", "driver", "nccl", "torch", "sglang", "measured", "note")


@dataclass(frozen=True)
class Profile:
    """A resolved session: everything that decides how it runs.

    ``server`` still holds the placeholders ``{target}`` and ``{draft}``; ``evidence`` says, for each overlay
    or profile that carries tuning, on which machine it was measured. ``words`` load it again.
    """

    name: str
    overlays: tuple[str, ...]
    changes: tuple[str, ...]
    about: str
    models: Models
    server: dict[str, Any]
    env: dict[str, str]
    unset_env: tuple[str, ...]
    workload: Workload
    options: Options
    evidence: dict[str, dict[str, str]]
    files: tuple[Path, ...]
    words: tuple[str, ...]

    @property
    def arm(self) -> str:
        """The name of this combination: profile, overlays, changes."""
        return "+".join((self.name, *self.overlays)) + "".join(f" {change}" for change in self.changes)

    @property
    def speculative(self) -> bool:
        """Whether speculative decoding is on."""
        return server_args.speculative(self.server)


@dataclass
class _Merge:
    tables: dict[str, dict[str, Any]] = field(default_factory=lambda: {name: {} for name in TABLES})
    where: dict[str, dict[str, str]] = field(default_factory=lambda: {name: {} for name in TABLES})
    unset_env: set[str] = field(default_factory=set)
    evidence: dict[str, dict[str, str]] = field(default_factory=dict)
    about: str = ""
    overlay: bool = False
    files: list[Path] = field(default_factory=list)


def load(name: str, overlays: Sequence[str] = (), sets: Sequence[str] = ()) -> Profile:
    """Read a profile by name or path, lay overlays over it, then ``--set`` changes.

    ``name`` may carry overlays itself: ``kimi-k25-tp8-baseline+nccl-pcie-ll``. Raises UsageError for an
    unknown profile, key or type (with file, line and nearest name) and InputError for an unreadable file.
    """
    base, *own = name.split("+") if not name.endswith(".toml") else [name]
    overlays = tuple(dict.fromkeys((*own, *overlays)))
    merge = _Merge()
    for source in _chain(find(base)):
        _lay(merge, source)
    merge.overlay = True
    for overlay in overlays:
        for source in _chain(find(overlay, "overlay"), "overlay"):
            _lay(merge, source)
    for change in sets:
        _set(merge, change)
    words = [_anywhere(base)]
    words += [word for overlay in overlays for word in ("--with", _anywhere(overlay))]
    words += [word for change in sets for word in ("--set", change)]
    return _finish(merge, _stem(base), tuple(map(_stem, overlays)), tuple(sets), tuple(words))


def _stem(name: str) -> str:
    """What a profile or overlay is called: a file by its stem."""
    return Path(name).stem if name.endswith(".toml") else name


def _anywhere(name: str) -> str:
    """What finds a profile or overlay from any folder: a file by its whole path."""
    return str(Path(name).resolve()) if name.endswith(".toml") else name


def _chain(path: Path, kind: str = "profile") -> list[Source]:
    chain: list[Source] = []
    while True:
        source = read(path)
        if any(path == seen.path for seen in chain):
            raise UsageError(f"{source.where('', 'extends')}: extends itself, over {len(chain)} files")
        chain.insert(0, source)
        parent = source.tables.get("extends")
        if parent is None:
            return chain
        if not isinstance(parent, str):
            raise UsageError(f"{source.where('', 'extends')}: extends must name one {kind}")
        sibling = path.parent / f"{parent.removesuffix('.toml')}.toml"
        path = sibling if sibling.is_file() else find(parent, kind)


def _lay(merge: _Merge, source: Source) -> None:
    merge.files.append(source.path)
    for name, table in source.tables.items():
        if name in ("extends", "about"):
            merge.about = merge.about if name == "extends" or merge.overlay else str(table)
        elif name not in TABLES:
            place = source.where(name) if isinstance(table, dict) else source.where("", name)
            raise UsageError(f"{place}: unknown {_what(table)} '{name}'{nearest(name, TABLES)}")
        elif not isinstance(table, dict):
            raise UsageError(f"{source.where('', name)}: {name} must be a table: [{name}]")
        else:
            _LAYERS.get(name, _lay_table)(merge, source, name, table)


def _what(value: object) -> str:
    return "table" if isinstance(value, dict) else "key"


def _lay_table(merge: _Merge, source: Source, name: str, table: dict[str, Any]) -> None:
    for key, value in table.items():
        _check_text(source.where(name, key), key, value)
        merge.tables[name][key] = value
        merge.where[name][key] = source.where(name, key)
    if name == "env":
        merge.unset_env -= table.keys()
    if name == "launch" and isinstance(folders := table.get("pythonpath"), list):
        merge.tables[name]["pythonpath"] = [str((source.path.parent / str(f)).resolve()) for f in folders]


def _lay_env(merge: _Merge, source: Source, name: str, table: dict[str, Any]) -> None:
    for key, value in table.items():
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise UsageError(
                f"{source.where(name, key)}: {key} must be text or a number, as the program reads it"
            )
        _check_name(source.where(name, key), key)
    _lay_table(merge, source, name, {key: str(value) for key, value in table.items()})


def _lay_unset(merge: _Merge, source: Source, name: str, table: dict[str, Any]) -> None:
    for target, names in table.items():
        if target not in ("env", "server") or not isinstance(names, list):
            raise UsageError(
                f"{source.where(name, target)}: [unset] holds lists: env = [...], server = [...]"
            )
        for key in names:
            merge.tables[target].pop(str(key), None)
        if target == "env":
            merge.unset_env.update(map(str, names))


def _lay_evidence(merge: _Merge, source: Source, name: str, table: dict[str, Any]) -> None:
    for key in table:
        if key not in EVIDENCE:
            raise UsageError(f"{source.where(name, key)}: unknown key '{key}'{nearest(key, EVIDENCE)}")
    merge.evidence[source.path.stem] = {key: str(value) for key, value in table.items()}


_LAYERS = {"env": _lay_env, "unset": _lay_unset, "evidence": _lay_evidence}


def _is_secret(table: str, key: str, text: str) -> bool:
    by_name = is_secret_option(key) or (table == "env" and is_secret_name(key) and not is_count(key, text))
    return by_name or scrub(text) != text


def _check_name(place: str, name: str) -> None:
    if not name or "=" in name or "\0" in name:
        raise UsageError(f"{place}: no environment can hold a variable called {name!r}")


def _check_text(place: str, name: str, value: object) -> None:
    if "\0" in str(value):
        raise UsageError(f"{place}: {name} holds a NUL character, which no program can be given")


def _set(merge: _Merge, change: str) -> None:
    target, equals, text = change.partition("=")
    if not equals:
        raise UsageError(f"--set {change}: write it as name=value")
    table, dot, key = target.partition(".")
    if not dot:
        table, key = ("env" if target.isupper() else "server"), target
    if table not in ("env", "server", "workload", "launch", "models"):
        raise UsageError(f"--set {change}: no table '{table}'{nearest(table, TABLES)}")
    if _is_secret(table, key, text) and not text.startswith(("{env:", UNSET)):
        raise UsageError(
            f"--set {target}: a secret on the command line ends up in names and process lists;"
            f" export it and write --set '{target}={{env:NAME}}'"
        )
    _check_text("command line", key, text)
    if table == "env":
        _check_name("command line", key)
    merge.where[table].pop(key, None)
    if text == UNSET:
        merge.tables[table].pop(key, None)
        merge.unset_env.update([key] if table == "env" else [])
    else:
        merge.tables[table][key] = _value(table, key, text)
        merge.unset_env.discard(key)


def _value(table: str, key: str, text: str) -> Any:
    if table == "env":
        return text
    if table == "server":
        return server_args.parse(key, text)
    kind = {"workload": Workload, "launch": Options, "models": Models}[table]
    declared = {f.name: f for f in fields(kind)}
    if key not in declared:
        raise UsageError(f"--set {table}.{key}: unknown key '{key}'{nearest(key, declared)}")
    return schema.parse_text(text, declared[key])


def _finish(
    merge: _Merge, name: str, overlays: tuple[str, ...], sets: tuple[str, ...], words: tuple[str, ...]
) -> Profile:
    tables, where = merge.tables, merge.where
    options = schema.fill(Options, tables["launch"], where["launch"])
    server_args.check(tables["server"], where["server"], options.check_names)
    models = schema.fill(Models, tables["models"], where["models"])
    if not tables["server"].get("model_path"):
        raise UsageError(f"{_files(merge.files)}: no model: set model_path in [server] or target in [models]")
    return Profile(
        name=name,
        overlays=overlays,
        changes=sets,
        about=merge.about,
        models=models,
        server=tables["server"],
        env=dict(sorted(tables["env"].items())),
        unset_env=tuple(sorted(merge.unset_env)),
        workload=schema.fill(Workload, tables["workload"], where["workload"]),
        options=options,
        evidence=merge.evidence,
        files=tuple(merge.files),
        words=words,
    )


def _files(paths: Iterable[Path]) -> str:
    return " + ".join(path.name for path in paths)
