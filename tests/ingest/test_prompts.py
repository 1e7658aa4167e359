"""What share of the prompts came out of the prefix cache, as the prefills tell it."""

from pathlib import Path

import pytest
from sglang_lines import decode, prefill, start

from speclog.ingest.api import ingest_paths
from speclog.ingest.follow import follow_log
from speclog.store import open_store

SHARE = "fact WHERE name = 'cached_prefix_share'"
LINES = [
    start(), prefill(1, new=300), decode(2), prefill(3, new=100, cached=150), decode(4),
    prefill(5, new=0, cached=50), decode(6), decode(7),
]  # fmt: skip
"""600 tokens of prompts, 200 of them cached."""


def shares(store: str) -> list[tuple[object, ...]]:
    with open_store(store) as opened:
        return opened.rows(f"SELECT value, source, line_no FROM {SHARE} ORDER BY line_no")


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_of_a_log(tmp_path: Path, store: str) -> None:
    ingest_paths([write(tmp_path / "a.log", LINES)], store_target=store)
    assert shares(store) == [("0.3333", "log", 2)]


def test_each_server_of_a_log_has_its_own(tmp_path: Path, store: str) -> None:
    second = [start(20), prefill(21, new=10, cached=30), decode(22)]
    ingest_paths([write(tmp_path / "a.log", [*LINES, *second])], store_target=store)
    assert shares(store) == [("0.3333", "log", 2), ("0.75", "log", 10)]


def test_a_followed_log_has_the_whole_one_s(tmp_path: Path, store: str) -> None:
    left, path = [line + "\n" for line in LINES], tmp_path / "a.log"
    path.touch()

    def stop() -> bool:
        if left:
            with path.open("a") as log:
                log.write(left.pop(0))
        return not left

    follow_log(str(path), store_target=store, stop=stop, flush_s=0, poll_s=0.001)
    assert shares(store) == [("0.3333", "log", 2)]


@pytest.mark.parametrize("cut", [3, 4, 6])
def test_pieces_of_a_rotated_log_count_together(tmp_path: Path, store: str, cut: int) -> None:
    pieces = [write(tmp_path / "a.log.1", LINES[:cut]), write(tmp_path / "a.log", LINES[cut:])]
    ingest_paths(pieces, store_target=store, group=True)
    assert [share for share, _, _ in shares(store)] == ["0.3333"]


@pytest.mark.parametrize(
    "lines",
    [
        [start(), decode(1)],
        [start(), prefill(1, new=0), decode(2)],
        [start(), prefill(1, new=64).replace("#cached-token: 0", "#cached-token: x"), decode(2)],
        [start(), prefill(1, new=2**62, cached=2**62), prefill(2, new=2**62, cached=2**62), decode(3)],
        [start(), prefill(1, new=-100, cached=64), decode(2)],
    ],
    ids=["no prefill", "no tokens", "not said", "beyond a number", "below none"],
)
def test_without_prompts_it_is_unknown(tmp_path: Path, store: str, lines: list[str]) -> None:
    ingest_paths([write(tmp_path / "a.log", lines)], store_target=store)
    assert shares(store) == []
