"""Specs of charts: valid Vega-Lite, made once and kept, never taken from a file that is broken."""

import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speclog.report import charts
from speclog.report.charts import base

MODULES = [
    importlib.import_module(f"{charts.__name__}.{found.name}")
    for found in pkgutil.iter_modules(charts.__path__)
]
HOW = {
    "steps": ("measured",), "concurrency": ("crossed",), "timeline": (base.CANDIDATE,),
    "acceptance": ("spans",), "sweep": ("spans",),
}  # fmt: skip
DRAWN = [
    (draw, how)
    for module in MODULES
    for name, draw in vars(module).items()
    if name.startswith("_draw") and draw.__module__ == module.__name__
    for how in {(), HOW.get(module.__name__.rsplit(".", 1)[1], ()) if draw.__code__.co_argcount else ()}
    if how or not module.__name__.endswith("timeline")
]


def test_all_kinds_are_there() -> None:
    assert {draw.__module__.rsplit(".", 1)[1] for draw, _ in DRAWN} == {
        "acceptance", "bill", "break_even", "concurrency", "context", "interaction", "steps", "sweep",
        "timeline", "trend",
    }  # fmt: skip


@pytest.mark.parametrize(("draw", "how"), DRAWN, ids=lambda value: getattr(value, "__module__", None))
def test_a_spec_is_valid(draw: Callable[..., Any], how: tuple[str, ...]) -> None:
    made = draw(*how).properties(width="container").to_dict(validate=True)
    made.pop("config", None)
    assert made["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert base.spec(draw, *how) == made
    assert base.spec(draw, *how, height=7)["height"] == 7


def test_it_is_made_once_and_altair_is_not_loaded_again(tmp_path: Path) -> None:
    script = (
        "import json, sys\n"
        "from speclog.report.charts import base, sweep\n"
        "print(json.dumps(base.spec(sweep._draw)))\n"
        "print('altair' in sys.modules)"
    )

    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True,
            env={"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": ":".join(filter(None, sys.path))},
        )  # fmt: skip
        return done.stdout.splitlines()

    spec, loaded = run()
    assert loaded == "True"
    assert run() == [spec, "False"]
    (kept,) = tmp_path.glob("speclog/charts-*.json")
    for broken in ('{"cut', "[]"):
        kept.write_text(broken)
        assert run() == [spec, "True"]
    assert list(json.loads(kept.read_text()).values()) == [json.loads(spec)]
