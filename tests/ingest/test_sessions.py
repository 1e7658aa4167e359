"""Where sessions begin and end, what belongs to which, and what is counted once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sglang_lines import ARGS, decode, prefill, start

from speclog.ingest.api import IngestSummary, ingest_paths

Ingest = Callable[..., list[IngestSummary]]
Rows = Callable[..., list[tuple[Any, ...]]]
MANIFEST = {
    "session": "s-1", "profile": "p", "overlays": ["o"], "arm": "baseline", "repeat": 2,
    "argv": ["python", "-m", "sglang.launch_server"], "env": {"NCCL_ALGO": "Ring", "EAGLE3_PROFILE": ""},
    "env_prefixes": ["NCCL_", "EAGLE3_"], "versions": {"sglang": "0.5.14", "torch": "2.9", "driver": "580"},
    "gpus": [
        {"index": 0, "name": "H200", "power_limit_w": 700},
        {"index": 1, "name": "H200", "power_limit_w": 600},
    ],
    "topology": "PIX", "other_gpu_processes": 0, "plugins": [], "host_hash": "h", "git_commit": "c",
    "started_at": "2026-01-29T00:16:00Z", "utc_offset_s": 3600, "workload": {"input_len": 128},
    "model_config": {"num_layers": 61},
}  # fmt: skip


def manifest(**changes: object) -> str:
    return "SPECLOG_MANIFEST v=1 " + json.dumps(MANIFEST | changes)


def log(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def test_manifest(ingest: Ingest, rows: Rows) -> None:
    ingest(log(manifest(), start(), decode(2), decode(3)))
    assert rows(
        "SELECT version, version_source, profile, overlays, arm, repeat, utc_offset_s, host_hash FROM run"
    ) == [("0.5.14", "manifest", "p", ["o"], "baseline", 2, 3600, "h")]
    assert rows("SELECT name, value FROM env_var ORDER BY 1") == [
        ("EAGLE3_PROFILE", ""),
        ("NCCL_ALGO", "Ring"),
    ]
    assert rows("SELECT prefix FROM env_scan ORDER BY 1") == [("EAGLE3_",), ("NCCL_",)]
    facts = dict(rows("SELECT name, value FROM fact"))
    assert facts["gpu.name"] == "H200"
    assert facts["gpu.power_limit_w"] == "[700,600]"
    assert (facts["gpu.count"], facts["profiling"], facts["workload.input_len"]) == ("2", "off", "128")
    assert (facts["model.num_layers"], facts["driver"], facts["gpu.other_processes"]) == ("61", "580", "0")
    assert str(rows("SELECT min(ts) FROM decode_window")[0][0]) == "2026-01-29 00:16:02"  # UTC


def test_profiling_is_unknown_unless_the_variable_was_looked_for(ingest: Ingest, rows: Rows) -> None:
    ingest(log(manifest(env={}, env_prefixes=["NCCL_"]), start(), decode(2)))
    assert rows("SELECT * FROM fact WHERE name = 'profiling'") == []


def test_an_environment_that_a_manifest_lacks_was_not_looked_for(ingest: Ingest, rows: Rows) -> None:
    """Two manifests cut down to their prefixes made a fair pair of variables that nobody recorded."""
    for number, env in enumerate((None, "gone", [])):
        ingest(log(manifest(session=f"s{number}", env=env), start(), decode(2)))
    assert rows("SELECT * FROM env_scan") == []
    assert rows("SELECT * FROM fact WHERE name = 'profiling'") == []


@pytest.mark.parametrize("blank", ["", " ", "unknown", "[N/A]", "[Not Supported]", "[Unknown Error]"])
def test_what_a_tool_prints_where_it_knows_nothing_is_no_value(
    ingest: Ingest, rows: Rows, blank: str
) -> None:
    """Two runs of an unknown driver were of the same one."""
    lacks = {
        "versions": {"sglang": blank, "driver": blank, "torch": "2.9"},
        "gpus": [{"name": "H200", "power_limit_w": 600}, {"name": "H200", "power_limit_w": blank}],
        "topology": blank,
        "workload": {"dataset": blank, "dataset_path": "", "input_len": 128},
    }
    ingest(log(manifest(**lacks), start(), decode(2)))
    facts = dict(rows("SELECT name, value FROM fact"))
    assert not {"driver", "topology", "gpu.power_limit_w", "workload.dataset"} & facts.keys()
    known = {"torch": "2.9", "gpu.name": "H200", "gpu.count": "2", "workload.input_len": "128"}
    assert known.items() <= facts.items()
    assert facts["workload.dataset_path"] == ""
    assert rows("SELECT version FROM run") != [(blank,)]


def test_run_id_is_the_manifests_session(ingest: Ingest) -> None:
    first = ingest(log(manifest(), start(), decode(2)))[0]
    other = ingest(log(manifest(), start(5), decode(7), decode(8)), "other-host.log")[0]
    assert first.run_id == other.run_id


def test_restart_in_one_file(ingest: Ingest, rows: Rows) -> None:
    capped = "[2026-01-29 01:16:20] Max running requests is reset to 48 for speculative decoding."
    text = log(
        "# a note", start(), prefill(1), decode(2), prefill(3), capped, start(21), decode(22), decode(23)
    )
    first, second = ingest(text)
    assert (first.run, first.windows, first.end_reason) == ("a", 1, "killed")
    assert (second.run, second.windows, second.end_reason) == ("a#2", 2, "open")
    assert (first.first_line, first.last_line, second.first_line, second.last_line) == (1, 5, 6, 9)
    assert rows(
        "SELECT r.name FROM event AS e JOIN run AS r USING (run_id) WHERE e.kind = 'capped_requests'"
    ) == [("a#2",)]
    # The prefill of the first server does not count for the second.
    assert rows("SELECT run, prefills_since FROM decode_window ORDER BY line_no") == [
        ("a", 1),
        ("a#2", 0),
        ("a#2", 0),
    ]


def test_end_line_and_manifest_cut_sessions(ingest: Ingest) -> None:
    end = 'SPECLOG_END v=1 {"exit_code": 0, "reason": "done", "at": "2026-01-29T00:16:09Z"}'
    one, two = ingest(
        log(manifest(), start(), decode(2), end, "noise", manifest(session="s-2"), start(9), decode(10))
    )
    assert (one.end_reason, one.last_line, two.first_line) == ("shutdown", 5, 6)
    assert one.run_id != two.run_id


def test_a_file_concatenated_with_itself_counts_once(ingest: Ingest, rows: Rows) -> None:
    text = log(start(), decode(2), decode(3))
    found = ingest(text + text)
    assert [s.windows for s in found] == [2]
    assert "copies" in found[0].notes[0]
    assert rows("SELECT count(*) FROM decode_window") == [(2,)]


def test_the_longer_copy_of_a_session_counts(ingest: Ingest, rows: Rows) -> None:
    found = ingest(log(start(), decode(2)) + log(start(), decode(2), decode(3), decode(4)))
    assert [s.windows for s in found] == [3]
    assert rows("SELECT count(*) FROM decode_window") == [(3,)]


def test_a_log_that_grew_replaces_its_run(ingest: Ingest, rows: Rows) -> None:
    first = ingest(log(start(), decode(2)))[0]
    grown = ingest(log(start(), decode(2), decode(3)))[0]
    assert (grown.status, grown.run_id) == ("ingested", first.run_id)
    assert rows("SELECT count(*) FROM decode_window") == [(2,)]


def test_workload_steps(ingest: Ingest, rows: Rows) -> None:
    def mark(event: str, step: str, kind: str) -> str:
        return "SPECLOG_WORKLOAD v=1 " + json.dumps(
            {"event": event, "step": step, "kind": kind, "batch_size": 1}
        )

    ingest(log(
        start(), mark("begin", "w", "warmup"), decode(2), mark("end", "w", "warmup"), decode(3),
        mark("begin", "b1", "measure"), decode(4), mark("end", "b1", "measure"), decode(5),
    ))  # fmt: skip
    assert rows("SELECT step, warmup FROM raw_decode_window ORDER BY line_no") == [
        ("w", True), (None, None), ("b1", False), (None, None),
    ]  # fmt: skip


def test_data_parallel_ranks_keep_their_own_prefills(ingest: Ingest, rows: Rows) -> None:
    ingest(log(
        start(), prefill(1, rank=" DP0 TP0"), decode(2, rank=" DP1 TP1"), decode(3, rank=" DP0 TP0"),
        prefill(4, rank=" DP1 TP1"), prefill(5, rank=" DP1 TP1"), decode(6, rank=" DP0 TP0"), decode(7, rank=" DP1 TP1"),  # noqa: E501
    ))  # fmt: skip
    assert rows("SELECT dp_rank, tp_rank, prefills_since FROM raw_decode_window ORDER BY line_no") == [
        (1, 1, 0), (0, 0, 1), (0, 0, 0), (1, 1, 2),
    ]  # fmt: skip


def test_every_tensor_rank_printing_counts_once(ingest: Ingest, rows: Rows) -> None:
    lines = [
        line(second, rank=f" TP{tp}")
        for second, line in ((1, prefill), (2, decode), (3, decode))
        for tp in (1, 0)
    ]
    summary = ingest(log(start(), *lines))[0]
    assert (summary.windows, summary.prefills) == (2, 1)
    assert rows("SELECT DISTINCT tp_rank FROM raw_decode_window") == [(0,)]


def test_synthetic_is_said_in_the_first_line(ingest: Ingest, rows: Rows) -> None:
    ingest(log("# SYNTHETIC log, made by a script", start(), decode(2)))
    ingest(log("# a synthetic one", start(5), decode(6)), "b.log")
    assert rows("SELECT name, synthetic FROM run ORDER BY 1") == [("a", True), ("b", False)]


def test_two_engines_in_one_file(ingest: Ingest) -> None:
    vllm = [
        "INFO 08-21 10:24:44 [api_utils.py:273] non-default args: {'model': 'm'}",
        "INFO 08-21 10:29:59 [loggers.py:273] Engine 000: Avg prompt throughput: 4.8 tokens/s, Avg generation "  # noqa: E501
        "throughput: 5.6 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.8%, Prefix cache hit rate: 0.0%",  # noqa: E501
    ]
    found = ingest(log(start(), decode(2), *vllm, start(9), decode(10)))
    assert [(s.engine, s.windows) for s in found] == [("sglang", 1), ("vllm", 1), ("sglang", 1)]


def test_clock_jumps_do_not_reorder(ingest: Ingest, rows: Rows) -> None:
    ingest(log(start(30), decode(40), decode(10), decode(41)))
    assert [str(t)[-2:] for (t,) in rows("SELECT ts FROM raw_decode_window ORDER BY line_no")] == [
        "40",
        "10",
        "41",
    ]


@pytest.mark.slow
def test_memory_is_bounded_and_long_logs_give_the_same(tmp_path: Path, monkeypatch: Any) -> None:
    """A log written along while it is read gives what one written at once gives."""
    from speclog.ingest import parallel, write
    from speclog.store import open_store

    lines = [start()] + [line(i % 60) for i in range(3000) for line in ((prefill, decode)[i % 3 == 0],)]
    path = tmp_path / "a.log"
    path.write_text(log(*lines, start(59), *lines[1:500]))
    sql = "SELECT * EXCLUDE (ingest_id) FROM raw_decode_window ORDER BY line_no"
    found = []
    for flush, chunk in ((write.FLUSH_ROWS, parallel.STRETCH), (100, 5000)):
        monkeypatch.setattr(write, "FLUSH_ROWS", flush)
        monkeypatch.setattr(parallel, "STRETCH", chunk)
        monkeypatch.setattr(parallel, "BLOCK", chunk // 3)
        target = str(tmp_path / f"{flush}.duckdb")
        summaries = ingest_paths([path], store_target=target)
        again = ingest_paths([path], store_target=target)
        assert {s.status for s in again} == {"unchanged"}
        with open_store(target) as store:
            found.append(
                (
                    store.rows(sql),
                    store.rows("SELECT * EXCLUDE (ingest_id, ingested_at) FROM raw_ingest ORDER BY 1, 2, 3"),
                )
            )
        assert [s.windows for s in summaries] == [1000, 167]
    assert found[0] == found[1]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_each_session_has_its_own_bytes(
    ingest: Ingest, rows: Rows, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from speclog.ingest import parallel

    monkeypatch.setattr(parallel, "BLOCK", 500)
    monkeypatch.setattr(parallel, "STRETCH", 500)
    access = '[2026-01-29 01:16:00] INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK'
    capped = "[2026-01-29 01:16:05] Max running requests is reset to 48 for speculative decoding."
    first = [start(), decode(2), *[access] * 9, decode(3), access]
    second = [capped, access, start(4), *[access] * 9, decode(5), access, access]
    ingest(end.join([*first, *second]))
    text = [end.join(lines) for lines in (first, second)]
    sizes = [len(text[0]) + len(end), len(text[1])]
    assert rows("SELECT bytes, lines FROM raw_ingest ORDER BY session_index") == [
        (sizes[0], len(first)),
        (sizes[1], len(second)),
    ]


def test_arguments_are_canonical(ingest: Ingest, rows: Rows) -> None:
    one = ARGS.replace(
        "disable_cuda_graph=False", "disable_cuda_graph=False, cuda_graph_config=C(decode=P(bs=[1, 2]))"
    )
    ingest(log(start(args=one), decode(2)))
    assert dict(rows("SELECT name, value FROM server_arg")) == {
        "model_path": '"m"', "tp_size": "1", "disable_cuda_graph": "false", "speculative_algorithm": "null",
        "cuda_graph_config": '{"decode":{"bs":[1,2]}}',
    }  # fmt: skip


V2 = "[2026-01-29 01:16:30] Spec v2 is enabled for eagle/eagle3 speculative decoding and overlap schedule is turned on."  # noqa: E501
BACKEND = "[2026-01-29 01:16:30] Attention backend not specified. Use fa3 backend by default."


@pytest.mark.parametrize("between", [[], ["[2026-01-29 01:16:29] a line nobody knows"]])
def test_what_a_server_prints_before_its_arguments_is_its_own(
    ingest: Ingest, rows: Rows, between: list[str]
) -> None:
    """It was told of the server before it: its facts, its version, its end."""
    first = [start(0), *(decode(2 + i) + ", " for i in range(4))]
    second = [BACKEND, V2, start(31), *(decode(32 + i) + ", " for i in range(4))]
    ingest("\n".join([*first, *between, *second]) + "\n")
    assert rows("SELECT name, version_min, version_max, CAST(ended_at AS VARCHAR) FROM run ORDER BY 1") == [
        ("a", "0.5.4", "0.5.8", "2026-01-29 01:16:05"), ("a#2", "0.5.7", "0.5.8", "2026-01-29 01:16:35"),
    ]  # fmt: skip
    assert rows("SELECT r.name, f.value FROM fact AS f JOIN run AS r USING (run_id) "
                "WHERE f.name = 'spec_version'") == [("a#2", "v2")]  # fmt: skip


def test_a_traceback_does_not_take_the_next_servers_first_lines(ingest: Ingest, rows: Rows) -> None:
    error = ["[2026-01-29 01:16:06] Traceback (most recent call last):", "  File 'x'", "ValueError: x"]
    bare = "Spec v1 is used for eagle/eagle3/standalone speculative decoding because of x."
    ingest("\n".join([start(0), decode(2), *error, "", bare, start(31), decode(32)]) + "\n")
    assert rows("SELECT r.name, e.kind, e.line_no, e.line_end FROM event AS e JOIN run AS r USING (run_id) "
                "ORDER BY e.line_no") == [("a", "traceback", 3, 6), ("a#2", "spec_v1", 7, 7)]  # fmt: skip
    assert rows("SELECT name, value FROM fact WHERE name = 'spec_version'") == [("spec_version", "v1")]


def test_what_a_server_prints_behind_its_arguments_is_its_own(ingest: Ingest, rows: Rows) -> None:
    ingest("\n".join([start(0), BACKEND, V2, *(decode(32 + i) for i in range(4)), BACKEND, V2]) + "\n")
    assert rows("SELECT value, line_no FROM fact WHERE name = 'spec_version'") == [("v2", 3)]


def test_a_server_after_one_of_another_engine_has_its_first_lines(ingest: Ingest, rows: Rows) -> None:
    banner = "INFO 01-29 01:16:01 [api_server.py:1287] vLLM API server version 0.25.1"
    found = ingest("\n".join([banner, "", V2, start(31), decode(32)]) + "\n")
    assert [(s.engine, s.events) for s in found] == [("vllm", 1), ("sglang", 1)]
    assert rows("SELECT r.engine, f.value FROM fact AS f JOIN run AS r USING (run_id) "
                "WHERE f.name = 'spec_version'") == [("sglang", "v2")]  # fmt: skip
