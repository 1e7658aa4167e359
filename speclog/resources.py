"""Where the data files that ship with speclog are: SQL, templates, launch profiles.

In a checkout they lie at the top level; in a wheel they lie inside the package under ``_data``.
"""

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
