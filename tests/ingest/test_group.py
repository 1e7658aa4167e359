"""The logs of one server's nodes make one run."""

import json
from pathlib import Path

from sglang_lines import decode, prefill, start

from speclog.ingest.api import ingest_paths
from speclog.store import open_store


def node(tmp_path: Path, name: str, *lines: str) -> Path:
    path = tmp_path / f"{name}.log"
    path.write_text("\n".join(lines) + "\n")
    return path


def manifest(rank: int, session: str = "s") -> str:
    return "SPECLOG_MANIFEST v=1 " + json.dumps({"session": session, "node_rank": rank})


def test_nodes_of_one_manifest_session_are_one_run(tmp_path: Path, store: str) -> None:
    nodes = [
        node(
            tmp_path,
            f"node{n}",
            manifest(n),
            start(),
            prefill(1, rank=f" DP{n} TP0"),
            decode(2, rank=f" DP{n} TP0"),
        )
        for n in (0, 1)
    ]
    other = node(tmp_path, "other", manifest(0, "t"), start(9), decode(10))
    found = ingest_paths([*nodes, other], store_target=store)
    assert [(s.run, s.windows) for s in found] == [("node0", 2), ("other", 1)]
    with open_store(store) as opened:
        sql = "SELECT source_index, dp_rank, prefills_since FROM decode_window JOIN raw_decode_window USING (run_id, line_no, source_index, dp_rank, prefills_since) WHERE run = 'node0' ORDER BY 1"  # noqa: E501
        assert opened.rows(sql) == [(0, 0, 1), (1, 1, 1)]
    assert [s.status for s in ingest_paths(nodes, store_target=store)] == ["unchanged"]


def test_a_copy_of_a_log_is_not_a_second_node(tmp_path: Path, store: str) -> None:
    lines = (manifest(0), start(), decode(2))
    found = ingest_paths([node(tmp_path, "a", *lines), node(tmp_path, "b", *lines)], store_target=store)
    assert [(s.status, s.windows) for s in found] == [("ingested", 1), ("unchanged", 1)]


def test_group_by_hand_counts_pipeline_stages_once(tmp_path: Path, store: str) -> None:
    nodes = [
        node(tmp_path, f"node{n}", start(n), prefill(1, rank=f" PP{n} TP0"), decode(2, rank=f" PP{n} TP0"))
        for n in (0, 1)
    ]
    found = ingest_paths(nodes, store_target=store, group=True)
    assert [(s.run, s.windows, s.prefills) for s in found] == [("node0", 1, 1)]
    with open_store(store) as opened:
        assert opened.rows("SELECT value FROM fact WHERE name = 'duplicate_rank_lines'") == [("2",)]


def test_logs_of_servers_that_differ_are_not_one_server(tmp_path: Path, store: str) -> None:
    plain = start()
    spec = start(0, "server_args=ServerArgs(model_path='m', tp_size=1, speculative_algorithm='EAGLE3')")
    logs = [node(tmp_path, "a", plain, decode(2)), node(tmp_path, "b", spec, decode(3), decode(4))]
    found = ingest_paths(logs, store_target=store, group=True)
    assert [(s.status, s.windows, s.detail) for s in found] == [
        ("ingested", 1, ""),
        ("unusable", 0, 'another server\'s (its speculative_algorithm is "EAGLE3"): not in the group; ingest it by itself'),  # noqa: E501
    ]  # fmt: skip


def test_of_nodes_logs_the_first_server_counts(tmp_path: Path, store: str) -> None:
    logs = [
        node(tmp_path, "a", start(), decode(2), start(9), decode(10), decode(11)),
        node(tmp_path, "b", decode(12), decode(13)),  # goes on with the second server of the first log
    ]
    found = ingest_paths(logs, store_target=store, group=True)
    assert [(s.status, s.windows, len(s.notes)) for s in found] == [("ingested", 1, 1), ("unusable", 0, 0)]
    assert "from line 3 on it is another server's" in found[0].notes[0]


def test_each_log_is_read_once(tmp_path: Path, store: str) -> None:
    """A node's own log begins with a start, a later piece of a rotated one does not."""
    nodes = [node(tmp_path, f"n{n}", start(n), decode(2, rank=f" DP{n}")) for n in (0, 1)]
    (tmp_path / "n1.log.1").write_text(start(1) + "\n" + decode(1, rank=" DP1") + "\n")
    (tmp_path / "n1.log").write_text(decode(3, rank=" DP1") + "\n")
    logs = [nodes[0], tmp_path / "n1.log.1", nodes[1]]
    told: list[int] = []
    (found,) = ingest_paths(logs, store_target=store, group=True, progress=told.append)
    assert found.windows == 3
    assert sum(told) == sum(path.stat().st_size for path in logs)
