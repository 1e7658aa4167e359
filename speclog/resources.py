"""Where the data files that ship with speclog are: SQL, templates, launch profiles; and its cache.

In a checkout they lie at the top level; in a wheel they lie inside the package under ``_data``.
"""

import contextlib
import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def directory(name: str) -> Path:
    """Return the directory of shipped files called ``name`` (``sql``, ``templates`` or ``launch``).

    Raises FileNotFoundError when the installation lacks it.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"this installation of speclog lacks its {name}/ directory; reinstall it")


def cache_directory() -> Path | None:
    """The user's cache directory for speclog, which need not be there; None where the user has no home."""
    return _of_user("XDG_CACHE_HOME", ".cache")


def config_directory() -> Path | None:
    """The user's configuration directory for speclog, likewise."""
    return _of_user("XDG_CONFIG_HOME", ".config")


def _of_user(variable: str, usual: str) -> Path | None:
    named = os.environ.get(variable, "")
    with contextlib.suppress(RuntimeError):
        base = Path(named) if Path(named).is_absolute() else Path.home() / usual
        return base / "speclog"
    return None
