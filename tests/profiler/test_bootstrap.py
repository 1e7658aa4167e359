"""How the profiler gets into a server's processes, alone and together with others' ways of getting in."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import speclog.profiler

from .conftest import ROOT, serve

BOOT = speclog.profiler.bootstrap_path()


def test_the_folder_is_all_that_a_server_needs():
    """With nothing but the bootstrap folder on the path the package is found beside it."""
    output = serve("v2", "1x5", path=[BOOT], profiler_on_path=False)
    assert len(output.kind("attach")) == 1
    assert "SERVED 5 tokens" in output.text


def test_the_entry_point_is_enough(plugin):
    """SGLang's plugin loader finds and calls `install`, after the scheduler's module has been imported."""
    output = serve("v2", "1x5", path=[plugin])
    assert len(output.kind("attach")) == 1
    assert sum(int(line["n"]) for line in output.kind("spec")) == 6


def test_both_ways_together_attach_once(plugin):
    """Installing speclog in SGLang's environment and launching through speclog is one profiler."""
    output = serve("v2", "1x5", path=[BOOT, plugin])
    assert len(output.kind("attach")) == 1
    assert sum(int(line["n"]) for line in output.kind("spec")) == 6


def test_a_list_of_plugins_without_us_does_not_stop_the_other_way(plugin):
    """`SGLANG_PLUGINS` shuts the entry point out, not the sitecustomize."""
    assert not serve("v2", "1x5", path=[plugin], SGLANG_PLUGINS="other").lines
    output = serve("v2", "1x5", path=[BOOT, plugin], SGLANG_PLUGINS="other")
    assert len(output.kind("attach")) == 1


@pytest.mark.parametrize("profile", ["1", "0", ""])
def test_the_users_own_sitecustomize_still_runs(tmp_path, profile):
    """The hidden sitecustomize is run in the launcher and in the child, with or without the profiler."""
    (tmp_path / "sitecustomize.py").write_text("print('MINE', __name__, __file__)\n")
    output = serve("v2", "1x5", path=[BOOT, tmp_path], EAGLE3_PROFILE=profile)
    assert output.text.count(f"MINE sitecustomize {tmp_path}") >= 2
    assert len(output.kind("attach")) == (profile == "1")
    assert "SERVED 5 tokens" in output.text


def test_an_error_in_the_users_sitecustomize_is_theirs(tmp_path):
    """Python reports it as always; the profiler and the server go on."""
    (tmp_path / "sitecustomize.py").write_text("raise RuntimeError('mine')\n")
    output = serve("v2", "1x5", path=[BOOT, tmp_path])
    assert "Error in sitecustomize" in output.text
    assert len(output.kind("attach")) == 1
    assert "SERVED 5 tokens" in output.text


def test_a_broken_profiler_is_one_line(tmp_path):
    """A package that cannot be imported: the server starts all the same."""
    package = tmp_path / "speclog" / "profiler"
    package.mkdir(parents=True)
    (tmp_path / "speclog" / "__init__.py").touch()
    (package / "__init__.py").write_text("raise ValueError('damaged')\n")
    output = serve("v2", "1x5", path=[BOOT, tmp_path])
    assert set(map(str, output.kind("warn"))) == {"{'msg': 'bootstrap_failed', 'err': 'ValueError'}"}
    assert "SERVED 5 tokens" in output.text


def test_without_the_variable_nothing_happens(plugin):
    """No line, and not even an import of the profiler's parts."""
    output = serve("v2", "1x5", path=[BOOT, plugin], EAGLE3_PROFILE="0")
    assert not output.lines
    code = (
        "import sys, speclog.profiler as p; p.install(); print([m for m in sys.modules if 'importhook' in m])"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "EAGLE3_PROFILE": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_log_level_that_hides_info_does_not_hide_the_lines():
    """A handler of our own takes over, in the same layout."""
    output = serve("v2", "1x5", path=[BOOT], FAKE_LOG_LEVEL="warning")
    assert len(output.kind("attach")) == 1
    assert output.kind("spec")
    assert all(line[:2] == "[2" for line in output.text.splitlines() if "EAGLE3" in line)


def test_no_line_twice():
    """Exactly one handler writes a line, whichever it is."""
    for level in ("info", "warning"):
        assert serve("baseline", "1x5", path=[BOOT], FAKE_LOG_LEVEL=level).text.count("kind=attach") == 1


def test_a_bad_setting_is_said_and_left_out():
    """An unusable number or mode leaves the default; the server never hears of it."""
    output = serve("v2", "1x5", path=[BOOT], EAGLE3_PROFILE_WINDOW="many", EAGLE3_PROFILE_MODE="fast")
    assert [line["detail"] for line in output.kind("warn")] == [
        "'EAGLE3_PROFILE_MODE'",
        "'EAGLE3_PROFILE_WINDOW'",
    ]
    assert output.kind("spec")[0]["mode"] == "host"


def test_the_profiler_stands_alone():
    """It imports the standard library, itself, and torch inside functions; its syntax is Python 3.10."""
    allowed = set(sys.stdlib_module_names) | {"speclog", "torch", "sglang"}
    for file in Path(speclog.profiler.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text(), feature_version=(3, 10))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] in allowed, f"{file}: {name}"
                assert not name.startswith("speclog") or name.startswith("speclog.profiler"), (
                    f"{file}: {name}"
                )
        at_import = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        assert not any("torch" in ast.unparse(node) or "sglang" in ast.unparse(node) for node in at_import)
