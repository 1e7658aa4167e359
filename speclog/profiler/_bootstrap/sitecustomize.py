"""Starts the profiler in every Python process of a server, then runs the sitecustomize that this one hides.

Python imports the first `sitecustomize` on its path at start-up. The package is loaded from its own folder
and not by adding that folder's parent to the path: the parent may be another environment's site-packages.
pathlib is left alone here, since this runs in every Python process of a server.
"""

import importlib.machinery
import importlib.util
import os
import sys


def start_profiler(here: str) -> None:
    """Import speclog.profiler from beside this file if it is not importable already, and install it."""
    if importlib.util.find_spec("speclog") is None:
        package = os.path.dirname(os.path.dirname(here))  # noqa: PTH120
        spec = importlib.util.spec_from_file_location(
            "speclog", package + "/__init__.py", submodule_search_locations=[package]
        )
        if spec is None or spec.loader is None:
            return
        module = importlib.util.module_from_spec(spec)
        sys.modules["speclog"] = module
        spec.loader.exec_module(module)
    from speclog.profiler import install

    install()


def run_hidden_sitecustomize(here: str) -> None:
    """Run the next sitecustomize on the path; what it raises is Python's to report, as it always was."""
    path = [entry for entry in sys.path if os.path.realpath(entry or os.curdir) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


HERE = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120
if os.environ.get("EAGLE3_PROFILE"):
    try:
        start_profiler(HERE)
    except Exception as problem:
        sys.stderr.write(
            "EAGLE3_PROFILE v=1 kind=warn msg=bootstrap_failed err=%s\n" % type(problem).__name__  # noqa: UP031
        )
run_hidden_sitecustomize(HERE)
