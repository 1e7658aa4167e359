"""Some of the hostile logs that `make fuzz` reads a hundred thousand of, and what is special about a few."""

import gzip
import random
from itertools import count
from pathlib import Path

import fuzzing
import pytest
from fuzzing import TooSlow, anew, check, fuzz
from mutants import mutant

from speclog.ingest.api import ingest_paths
from speclog.store import open_store

SHARE = 240


def test_some_hostile_logs_are_read_or_refused(tmp_path: Path) -> None:
    done = fuzz(range(SHARE), tmp_path)
    assert done.logs == SHARE
    assert done.sessions > SHARE / 2


def test_what_the_machine_did_meanwhile_is_no_slow_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that took too much CPU is read in a new process, whose clock is its own, and passes there."""
    _let_the_clock_jump(monkeypatch)
    done = fuzz(range(1, 5), tmp_path)
    assert (done.logs, done.again > 0) == (4, True)


def test_a_slow_log_is_slow_again_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _let_the_clock_jump(monkeypatch)
    with pytest.raises(TooSlow, match=r"mutant 5: \d+\.\d s of CPU"):
        anew([(5, mutant(5)), (6, mutant(6))], tmp_path)


def _let_the_clock_jump(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the CPU clock of this process finds a hundred seconds more."""
    jumps = count(0, 100)
    monkeypatch.setattr(fuzzing, "cpu_clock", lambda: float(next(jumps)))


def test_mutants_are_the_same_every_time() -> None:
    assert mutant(7) == mutant(7)
    assert len({mutant(n).log for n in range(50)}) == 50


def test_every_view_answers_over_hostile_runs_pairs_included(target: str, tmp_path: Path) -> None:
    for number in range(3000, 3012):
        (tmp_path / f"m{number}.log").write_bytes(mutant(number).log)
    ingest_paths([tmp_path], store_target=target)
    with open_store(target) as store:
        check(store)
        for view in ("level_pair", "break_even", "comparison", "comparison_factor"):
            if store.rows("SELECT 1 FROM duckdb_views() WHERE view_name = ?", [view]):
                store.rows(f"SELECT count(*) FROM (SELECT hash(t) AS h FROM {view} AS t) WHERE h = 0")


def test_broken_archives_are_refused_with_a_reason(target: str, tmp_path: Path) -> None:
    whole = gzip.compress(mutant(1).log)
    dice = random.Random(5)
    for n in range(30):
        data = bytearray(whole)
        match n % 3:
            case 0:
                data = data[: dice.randrange(len(data))]
            case 1:
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            case 2:
                data += b"trailing garbage"
        path = tmp_path / f"b{n}.log.gz"
        path.write_bytes(bytes(data))
        for summary in ingest_paths([path], store_target=target):
            assert summary.status != "unusable" or summary.detail
