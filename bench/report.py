"""Report and index over a store of many runs: seconds and bytes. Prints; holds nothing to a limit.

    python -m bench.report [RUNS] [--keep DIR] [--rounds 3] [--write]

The store is made from the example logs: each run is copied under a new id, a day later, with its speed moved
a little and now and then a changed variable, until there are RUNS (default 1,000). Takes about two minutes; ``--write`` puts the figures into
docs/performance.md.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench import section
from speclog.ingest.api import ingest_paths
from speclog.store import open_store, summaries

ROOT = Path(__file__).resolve().parent.parent
# What moves in a copy, a table: column -> expression of the number of the copy (copy_no).
TABLES: dict[str, dict[str, str]] = {
    "raw_run": {"started_at": "started_at + to_days(copy_no)", "name": "name || '-' || copy_no"},
    "raw_ingest": {"ingested_at": "ingested_at + to_seconds(copy_no)"},
    "raw_decode_window": {
        "gen_tok_s": "gen_tok_s * (1 + 0.01 * sin(copy_no))",
        "ts": "ts + to_days(copy_no)",
    },
    "raw_prefill_batch": {"ts": "ts + to_days(copy_no)"},
    "raw_profile_window": {"ts": "ts + to_days(copy_no)"},
    "raw_server_arg": {},
    "raw_env_var": {
        "value": "CASE WHEN name = 'OMP_NUM_THREADS' AND copy_no % 17 = 0 THEN '16' ELSE value END"
    },
    "raw_env_scan": {},
    "raw_fact": {"value": "CASE WHEN name = 'driver' AND copy_no > 40 THEN value || '.1' ELSE value END"},
    "raw_event": {"ts": "ts + to_days(copy_no)"},
    "raw_bench_result": {},
}


def make_store(target: str, runs: int) -> int:
    """A store of at least ``runs`` runs; returns how many."""
    ingest_paths([ROOT / "examples" / "logs"], store_target=target)
    with open_store(target, read_only=False) as store:
        have = store.rows("SELECT count(*) FROM run")[0][0]
        copies = -(-(runs - have) // have)
        for table, moved in TABLES.items():
            new = {"ingest_id": "ingest_id || '-' || copy_no", "run_id": "run_id || '-' || copy_no"} | moved
            replaced = ", ".join(f"{expression} AS {column}" for column, expression in new.items())
            store.rows(
                f"INSERT INTO {table} SELECT * EXCLUDE (copy_no) REPLACE ({replaced}) "  # noqa: S608
                f"FROM {table}, (SELECT unnest(range(1, {copies + 1})) AS copy_no)"
            )
        store.transaction(lambda: summaries.write(store))
        return int(store.rows("SELECT count(*) FROM run")[0][0])


def questions(folder: Path) -> dict[str, list[str]]:
    """What is asked: name -> arguments of the command."""
    to = ["--out-dir", str(folder)]
    return {
        "index": ["report", "--index", *to],
        "report of one candidate": ["report", "--vs", "baseline", "--run", "eagle3-5x6-untuned-7", *to],
        "report of all, `--vs baseline`": ["report", "--vs", "baseline", *to],
        "`speclog check` of all": ["check", "--fail-on", "none"],
    }


def main() -> None:
    """Parse the options, make the store, time, print."""
    parser = argparse.ArgumentParser(description="Report and index over a store of many runs.")
    parser.add_argument("runs", nargs="?", type=int, default=1000)
    parser.add_argument("--keep", type=Path, help="make the store and the pages here and leave them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--write", action="store_true", help="write docs/performance.md, section bench-report"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        target = str(folder / "many.duckdb")
        if not Path(target).exists():
            make_store(target, asked.runs)
        with open_store(target) as store:
            runs = store.rows("SELECT count(*) FROM run")[0][0]
        head = f"{section.machine()} {runs} runs; best of {asked.rounds}."
        print(head)
        lines = [head, "", *section.table(target, questions(folder), asked.rounds)]
        largest = max(path.stat().st_size for path in folder.glob("*.html"))
        lines += ["", f"The largest page has {largest / 1e6:.2f} MB."]
        print(lines[-1])
    if asked.write:
        section.write("bench-report", lines)


if __name__ == "__main__":
    main()
