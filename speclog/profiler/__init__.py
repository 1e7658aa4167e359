"""EAGLE3_PROFILE: where a speculative round's time goes, measured inside SGLang's own scheduler process.

`install()` is the one way in; SGLang's plugin loader calls it through the entry point group
`sglang.srt.plugins`, and `_bootstrap/sitecustomize.py` calls it in servers that have no plugins. It does
nothing unless `EAGLE3_PROFILE=1`. This package runs in SGLang's environment and Python, not in speclog's: it
imports the standard library only, torch late and if it is there, and runs on Python 3.10.
"""

import os

__all__ = ["bootstrap_path", "enabled", "install"]


def enabled() -> bool:
    """Whether the environment asks for the profiler (`EAGLE3_PROFILE=1`)."""
    return os.environ.get("EAGLE3_PROFILE", "").strip().lower() in ("1", "true", "yes", "on")


def install() -> None:
    """Arrange that every SGLang scheduler made in this process from now on is profiled.

    Safe to call any number of times and in any process of the server; never raises.
    """
    if not enabled():
        return
    try:
        from speclog.profiler import importhook

        importhook.install()
    except Exception as error:
        from speclog.profiler import lines

        lines.warn("install_failed", error)


def bootstrap_path() -> str:
    """The folder to put first on a server's `PYTHONPATH`; nothing else of speclog needs to be on it."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bootstrap")  # noqa: PTH100, PTH118, PTH120
