"""The environment of a session: what is recorded of it, and what is never written down."""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

REDACTED = "<redacted>"
UNSET = "unset"


@cache
def rules() -> dict[str, Any]:
    """The declared rules (environment.toml): prefixes, secret words and values, files hashed by content."""
    return tomllib.loads(Path(__file__).with_name("environment.toml").read_text(encoding="utf-8"))


def prefixes() -> list[str]:
    """Prefixes that a manifest scans completely: a variable under one of them that is absent is unset."""
    return list(rules()["prefixes"])


def compose(base: Mapping[str, str], values: Mapping[str, str], unset: Iterable[str]) -> dict[str, str]:
    """The environment a server gets: ``base`` without ``unset``, then ``values`` on top."""
    gone = set(unset)
    return {name: value for name, value in base.items() if name not in gone} | dict(values)


def recorded(env: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a manifest records, secrets redacted, sorted by name.

    A variable that names a file gets a companion ``NAME.sha256`` (first 16 hex digits of the content), since
    the same path with another content is another environment.
    """
    starts = tuple(rules()["prefixes"])
    found = {name: shown(name, env[name]) for name in sorted(env) if name.startswith(starts)}
    hashes = {f"{name}.sha256": _content_hash(env[name]) for name in rules()["content_of"] if name in found}
    return dict(sorted((found | hashes).items()))


def foreign(env: Mapping[str, str], declared: Iterable[str]) -> dict[str, str]:
    """Recorded variables that come from the shell and not from the profile."""
    known = set(declared)
    starts = tuple(rules()["prefixes"])
    return {n: shown(n, v) for n, v in sorted(env.items()) if n.startswith(starts) and n not in known}


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable or option says that its value is a secret."""
    upper = name.upper().replace("-", "_")
    return upper not in rules()["not_secret"] and any(word in upper for word in rules()["secret_words"])


def scrub(text: str) -> str:
    """Redact what looks like a secret inside a text, whatever it is called."""
    for pattern in rules()["secret_values"]:
        text = re.sub(pattern, REDACTED, text)
    return text


def scrub_argv(argv: Iterable[str]) -> list[str]:
    """Redact the values of secret options (``--api-key X``, ``--api-key=X``) and secret-looking values."""
    shown: list[str] = []
    secret = False
    for word in argv:
        option, equals, _ = word.partition("=")
        if word.startswith("--"):
            secret = is_secret_option(option)
            shown.append(f"{option}={REDACTED}" if secret and equals else scrub(word))
        else:
            shown.append(REDACTED if secret else scrub(word))
            secret = False
    return shown


def is_secret_option(option: str) -> bool:
    """Whether a server option takes a secret: SGLang's token counts and key-value options do not."""
    name = option.lstrip("-").replace("-", "_").lower()
    return name in {"api_key", "admin_api_key"} or name.endswith(
        ("_api_key", "_token", "_secret", "password", "_secret_key", "_access_key", "_private_key")
    )


def scrub_json(value: Any) -> Any:
    """Redact secrets inside decoded JSON, by key and by value."""
    if isinstance(value, dict):
        return {k: REDACTED if v and is_secret_option(str(k)) else scrub_json(v) for k, v in value.items()}
    if isinstance(value, list):
        return [scrub_json(item) for item in value]
    return scrub(value) if isinstance(value, str) else value


def shown(name: str, value: str) -> str:
    """A variable's value as it may be shown: redacted when its name, or what it holds, says it is secret."""
    if is_secret_name(name) and not is_count(name, value):
        return REDACTED
    return scrub(value)


def is_count(name: str, value: str) -> bool:
    """Whether a variable of SGLang whose name sounds secret holds a number or a switch."""
    plain = re.fullmatch(r"-?\d{1,9}(\.\d+)?|true|false|yes|no|on|off", value, re.IGNORECASE)
    return name.startswith("SGLANG_") and plain is not None


def _content_hash(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError:
        return "unreadable"
