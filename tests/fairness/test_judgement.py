"""The verdict view and the row-by-row view judge alike, and say why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speclog import annotations
from speclog.store import Store
from tests.fairness.build import Made, baseline, candidate

pytestmark = pytest.mark.slow
Stores = Callable[..., Store]

AS_PLAIN: dict[str, Any] = {
    "args": {"max_running_requests": None, "cuda_graph_bs": [1, 2, 4, 8]},
    "facts": {"kv_tokens": 560916, "max_running_requests": 4096},
    "levels": (),
}
CASES = {
    "equal": (candidate(), baseline(), "fair"),
    "nccl": (candidate(env={"NCCL_PROTO": "LL"}), baseline(), "unfair"),
    "no scan": (candidate(prefixes=()), baseline(), "unproven"),
    "graphs": (candidate(), baseline(args={"disable_cuda_graph": True}, graph=False), "unfair"),
    "unlisted": (candidate(args={"brand_new_option": 3}), baseline(args={"brand_new_option": 4}), "unproven"),
    "noise": (candidate(args={"port": 1, "random_seed": 7}), baseline(), "fair"),
    "never served": (candidate(), baseline(served=False), "unproven"),
    "page of a chain": (candidate(args={"page_size": 1}), baseline(args={"page_size": 64}), "unfair"),
    "page of a tree": (
        candidate(args={"page_size": 1, "speculative_eagle_topk": 4}),
        baseline(args={"page_size": 64}),
        "fair",
    ),
    "preload": (candidate(env={"LD_PRELOAD": "a.so"}), baseline(), "unproven"),
    "impossible": (candidate(round_ms=3.0), baseline(), "unfair"),
    # in all that decides, to the letter: neither has a window
    "configured alike": (candidate(**AS_PLAIN), baseline(levels=()), "unproven"),
}


@pytest.mark.parametrize("case", CASES)
def test_both_views_give_the_same_verdict(store_of: Stores, case: str) -> None:
    left, right, expected = CASES[case]
    store = store_of(left, right, baseline("other", env={"NCCL_ALGO": "Ring"}))
    fast = (
        "SELECT verdict, n_confounders, n_unknown, n_entailed, reasons, caveats, contract_hash, vouched FROM "
    )
    rows = store.rows(fast + "comparison WHERE candidate = ? AND baseline = ?", [left.run_id, right.run_id])
    slow = store.rows(fast + "compare(?, ?)", [left.run_id, right.run_id])
    assert rows == slow
    assert rows[0][0] == expected


def test_reasons_name_the_factors(store_of: Stores) -> None:
    left = candidate(env={"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}, args={"page_size": 64})
    store = store_of(left, baseline())
    ((reasons,),) = store.rows("SELECT reasons FROM comparison")
    assert reasons == [
        "2 environment factors differ: NCCL_ALGO, NCCL_PROTO",
        "1 server factor differs: page_size",
    ]


def test_a_file_behind_a_path_is_equal_only_by_its_hash(store_of: Stores) -> None:
    path = {"NCCL_GRAPH_FILE": "/etc/graph.xml"}
    hashed = path | {"NCCL_GRAPH_FILE.sha256": "aa11"}
    other = path | {"NCCL_GRAPH_FILE.sha256": "bb22"}

    def verdict(left: dict[str, str], right: dict[str, str]) -> str:
        runs: tuple[Made, Made] = (candidate(env=left), baseline(env=right))
        return str(store_of(*runs).rows("SELECT verdict FROM comparison")[0][0])

    assert verdict(path, path) == "unproven"
    assert verdict(hashed, hashed) == "fair"
    assert verdict(hashed, other) == "unfair"


def test_a_cap_is_entailed_only_where_sglang_set_it(store_of: Stores) -> None:
    """48 against no cap is SGLang's doing; against 16, set by hand, it is said as a caveat."""
    capped = baseline("capped", args={"max_running_requests": 16}, facts={"max_running_requests": 16})
    store = store_of(candidate(), baseline(), capped)
    sql = """
        SELECT b.name, list(DISTINCT f.class)
        FROM comparison_factor AS f JOIN arm AS b ON b.run_id = f.baseline
        WHERE f.name GLOB '*.max_running_requests' GROUP BY b.name ORDER BY b.name
    """
    assert store.rows(sql) == [("base", ["entailed"]), ("capped", ["server"])]
    assert store.rows("SELECT len(caveats) FROM comparison ORDER BY baseline_name") == [(0,), (1,)]


def test_vouched_is_only_what_no_record_says(store_of: Stores) -> None:
    """Words about what the manifest holds bear nothing; of what it lacks, the verdict rests on them."""
    dark = baseline("dark", drop=["fact.workload.dataset"])
    plain = baseline("plain", prefixes=())
    store = store_of(candidate(), baseline(), dark, plain)
    for made, said in (
        (candidate(), ["workload=w", "env=complete", "machine=m"]), (baseline(), ["env=complete", "tag=x"]),
        (dark, ["fact.workload.dataset=sharegpt"]), (plain, ["env=complete"]),
    ):  # fmt: skip
        annotations.record(store, [made.run_id], annotations.parse(said), author="t")
    expected = [("base", "fair", False), ("dark", "fair", True), ("plain", "fair", True)]
    sql = "SELECT baseline_name, verdict, vouched FROM comparison ORDER BY baseline_name"
    assert store.rows(sql) == expected
    slow = [
        ("SELECT verdict, vouched FROM compare(?, ?)", [candidate().run_id, run.run_id])
        for run in (baseline(), dark, plain)
    ]
    assert [store.rows(*one)[0] for one in slow] == [row[1:] for row in expected]


@pytest.mark.parametrize(
    ("mine", "theirs", "said"), [(0.75, 0.6, True), (0.6, 0.75, True), (0.52, 0.6, False), (0.6, 0.58, False)]
)
def test_other_prefixes_in_the_cache_are_a_caveat(
    store_of: Stores, mine: float, theirs: float, said: bool
) -> None:
    """Clean windows hold no prefill. A little less on the speculative side is SGLang's doing."""
    store = store_of(
        candidate(facts={"cached_prefix_share": mine}), baseline(facts={"cached_prefix_share": theirs})
    )
    ((verdict, caveats),) = store.rows("SELECT verdict, caveats FROM comparison")
    assert verdict == "fair"
    assert any("cached_prefix_share" in caveat for caveat in caveats) == said


DARK = ["fact.gpu.name", "fact.gpu.count", "fact.gpu.power_limit_w", "fact.driver", "fact.torch"]
ONCE = ["fact.cuda", "fact.plugins", "fact.gpu.other_processes", "fact.gpu.clocks_max_sm_mhz"]


@pytest.mark.parametrize(
    ("mine", "theirs", "drop", "expected"),
    [
        (None, None, DARK, ("unproven", False)),
        ("machine=h200", None, DARK, ("unproven", True)),
        ("machine=h200", "machine=h100", DARK, ("unproven", True)),
        ("machine=h200", "machine=h200", DARK, ("fair", True)),
        (None, None, ONCE, ("unproven", False)),
        ("machine=h200", None, ONCE, ("unproven", False)),
        ("machine=h200", "machine=h200", ONCE, ("fair", True)),
        ("fact.gpu.other_processes=0", None, ["fact.gpu.other_processes"], ("fair", True)),
        ("workload=w1", None, ["fact.workload.seed"], ("unproven", False)),
        ("workload=w1", "workload=w1", ["fact.workload.seed"], ("fair", True)),
        ("workload=w1", None, ["fact.workload.output_len"], ("unproven", True)),
        (None, None, ["fact.nccl", "fact.topology"], ("fair", False)),
    ],
)
def test_a_label_beside_a_record(
    store_of: Stores, mine: str | None, theirs: str | None, drop: list[str], expected: tuple[str, bool]
) -> None:
    """A label tells nothing of another run's record, unless that run has it, too; one GPU needs no NCCL."""
    left, right = candidate(drop=drop), baseline()
    store = store_of(left, right)
    for made, said in ((left, mine), (right, theirs)):
        if said:
            annotations.record(store, [made.run_id], annotations.parse([said]), author="t")
    assert store.rows("SELECT verdict, vouched FROM comparison") == [expected]
    assert store.rows("SELECT verdict, vouched FROM compare(?, ?)", [left.run_id, right.run_id]) == [expected]


def test_labels_with_numbers_are_no_versions(store_of: Stores) -> None:
    left, right = candidate(drop=DARK), baseline(drop=DARK)
    store = store_of(left, right)
    annotations.record(store, [left.run_id], annotations.parse(["machine=h200"]), author="t")
    annotations.record(store, [right.run_id], annotations.parse(["machine=a200"]), author="t")
    sql = "SELECT differs FROM comparison_factor WHERE name = 'fact.driver'"
    assert store.rows(sql) == [(True,)]
