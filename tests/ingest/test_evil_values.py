"""Values that no server prints but a log may: over 64 bits, no number, half a character, another type."""

import json
from pathlib import Path

import pytest
from sglang_lines import decode, prefill, start

from speclog.ingest.api import ingest_paths
from speclog.store import open_store

HUGE = ["9" * 19, "18446744073709551616", "1" + "0" * 400, "1e300", "1e999", "NaN", "-9223372036854775809"]
ANY = [*HUGE, "[]", "{}", "null", "true", '"x"', r'"\ud800"', '[1, [2, {"a": 1e999}]]']


def read(path: Path, store: str, sql: str) -> list[tuple[object, ...]]:
    assert [found.status for found in ingest_paths([path], store_target=store)] == ["ingested"]
    with open_store(store) as opened:
        return opened.rows(sql)


@pytest.mark.parametrize("number", ["9" * 19, "18446744073709551616"])
def test_an_iteration_of_more_than_64_bits_is_none(number: str, tmp_path: Path, store: str) -> None:
    path = tmp_path / "a.log"
    lines = [start(), decode(1), decode(2).replace("Decode batch", f"Decode batch [{number}]")]
    path.write_text("\n".join([*lines, prefill(3).replace("Prefill batch", f"Prefill batch [{number}]")]))
    sql = "SELECT count(*), count(iteration) FROM raw_decode_window"
    assert read(path, store, sql) == [(2, 0)]


@pytest.mark.parametrize("value", ANY)
@pytest.mark.parametrize("key", ["utc_offset_s", "env_prefixes", "session", "gpus", "versions", "repeat"])
def test_a_manifest_may_say_anything(key: str, value: str, tmp_path: Path, store: str) -> None:
    path = tmp_path / "a.log"
    manifest = json.dumps({"env": {"NCCL_ALGO": "Ring"}, key: "@"}).replace('"@"', value)
    path.write_text("\n".join([f"SPECLOG_MANIFEST v=1 {manifest}", start(), decode(1)]))
    found = read(path, store, "SELECT utc_offset_s, (SELECT value FROM env_var) FROM run")
    assert found == [(1 if (key, value) == ("utc_offset_s", "true") else None, "Ring")]


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize("key", ["completed", "output_throughput", "mean_tpot_ms", "request_rate"])
def test_a_benchmark_may_say_anything(key: str, value: str, tmp_path: Path, store: str) -> None:
    path = tmp_path / "a.bench.jsonl"
    result = {"backend": "sglang", "duration": 10.0, "completed": 5, "output_throughput": 20.0}
    path.write_text(json.dumps({**result, key: "@"}).replace('"@"', value) + "\n")
    completed = None if key == "completed" else 5
    assert read(path, store, "SELECT completed FROM bench_result") == [(completed,)]


def test_half_a_character_in_an_argument_is_a_question_mark(tmp_path: Path, store: str) -> None:
    path = tmp_path / "a.log"
    path.write_text("\n".join([start().replace("model_path='", r"model_path='\ud800"), decode(1)]))
    ((model,),) = read(path, store, "SELECT model FROM run")
    assert str(model).startswith("?")
