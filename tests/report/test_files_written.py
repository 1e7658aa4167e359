"""Files that a report writes: their names tell requests apart, and nothing else is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from speclog.errors import UsageError
from speclog.report import cached, file_stem, write_whole


def test_a_plain_request_has_a_plain_name() -> None:
    assert file_stem("baseline", None) == "all-vs-baseline"
    assert file_stem("baseline-fresh", ["eagle3-5x6"]) == "eagle3-5x6-vs-baseline-fresh"
    assert file_stem("b", ["x", "y"]) == "x+y-vs-b"


def test_every_request_has_its_own_name() -> None:
    asked = [
        ("baseline", ["eagle3-*"]), ("baseline", ["eagle3-?"]), ("baseline", ["eagle3-_"]),
        ("baseline", ["a+b"]), ("baseline", ["a", "b"]), ("*", ["a"]), ("?", ["a"]), ("*", None),
        ("b", ["x" * 130]), ("b", ["x" * 131]),
        ("b", ["..a"]), ("b", ["a"]), ("\u2028", ["\ud800"]),
    ]  # fmt: skip
    stems = [file_stem(vs, runs) for vs, runs in asked]
    assert len(set(stems)) == len(asked)
    assert stems == [file_stem(vs, runs) for vs, runs in asked]
    assert all("/" not in stem and len(stem) < 140 for stem in stems)


def test_a_folder_in_the_way_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "all-vs-baseline.html").mkdir()
    with pytest.raises(UsageError, match=r"all-vs-baseline\.html: cannot be written: Is a directory"):
        write_whole(tmp_path / "all-vs-baseline.html", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["all-vs-baseline.html"]


def test_a_file_where_the_folder_should_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("x")
    with pytest.raises(UsageError, match="cannot be written"):
        write_whole(tmp_path / "reports" / "a.html", "text")


def test_what_is_kept_in_the_cache_leaves_nothing_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "speclog" / "kept.json").mkdir(parents=True)
    cached.keep("kept.json", "text")
    assert [path.name for path in (tmp_path / "speclog").iterdir()] == ["kept.json"]


def test_what_is_kept_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cached.read("kept.json") is None
    cached.keep("kept.json", "text")
    assert cached.read("kept.json") == "text"


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")  # as in a container, under a bare number

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    cached.keep("kept.json", "text")
    assert cached.read("kept.json") is None


def test_a_file_is_replaced_whole_and_may_be_read_by_others(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.html", "one")
    write_whole(tmp_path / "a.html", "two \ud800")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == "two \\ud800"
    assert (tmp_path / "a.html").stat().st_mode & 0o777 == 0o644
