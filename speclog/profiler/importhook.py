"""Catch SGLang's scheduler class: now if its module is loaded, otherwise at the moment it is imported."""

from __future__ import annotations

import functools
import importlib.abc
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

SCHEDULER_MODULE = "sglang.srt.managers.scheduler"


def install() -> None:
    """Patch the scheduler module, or wait for its import. Repeated calls change nothing."""
    module = sys.modules.get(SCHEDULER_MODULE)
    if module is not None and hasattr(module, "Scheduler"):
        patch(module)
    elif not any(isinstance(finder, SchedulerFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, SchedulerFinder())


def patch(module: ModuleType) -> None:
    """Wrap `Scheduler.__init__` of `module`: attach to each scheduler once it is complete."""
    scheduler = getattr(module, "Scheduler", None)
    if scheduler is None:
        from speclog.profiler import lines

        lines.warn("no_scheduler_class", detail=SCHEDULER_MODULE)
        return
    original = scheduler.__init__
    if getattr(original, "_speclog", False):
        return

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        try:
            from speclog.profiler import attach

            attach.attach(self)
        except Exception as error:
            from speclog.profiler import lines

            lines.warn("attach_failed", error)

    init._speclog = True  # type: ignore[attr-defined]
    scheduler.__init__ = init


class SchedulerFinder(importlib.abc.MetaPathFinder):
    """Lets the other finders find the scheduler's module and patches it right after its own code has run."""

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the other finders' spec with its loader wrapped; None for every other module."""
        if fullname != SCHEDULER_MODULE:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = PatchingLoader(spec.loader)
                return spec
        return None


class PatchingLoader(importlib.abc.Loader):
    """Another loader's, but for one call of `patch` after the module's code."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leave it to the wrapped loader."""
        created: ModuleType | None = self.loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, put its own loader back, patch it."""
        self.loader.exec_module(module)
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        patch(module)
