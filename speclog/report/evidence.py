"""Where tuning was measured, for runs whose manifest only names its profile and overlays."""

from __future__ import annotations

from collections.abc import Mapping

from speclog.errors import SpeclogError


def told(name: str) -> Mapping[str, str] | None:
    """The ``[evidence]`` of an overlay or profile that this installation knows by name; None without one."""
    from speclog.launch.source import available, find, read

    for kind in ("overlay", "profile"):
        if name not in available(kind):
            continue
        try:
            table = read(find(name, kind)).tables.get("evidence")
        except SpeclogError:
            return None
        if isinstance(table, Mapping):
            return {str(key): str(value) for key, value in table.items()}
    return None
