"""docs/fairness.md shows the catalogue as it is."""

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

from speclog.analysis.factor_table import BEGIN, END, tables
from speclog.analysis.factors import read


def test_the_table_of_factors_is_current(root: Path) -> None:
    text = (root / "docs/fairness.md").read_text(encoding="utf-8")
    shown = text.split(BEGIN)[1].split(END)[0].strip()
    assert shown == tables(), "run python -m speclog.analysis.factor_table"


def test_every_server_argument_that_sglang_ever_had_is_classified(root: Path) -> None:
    """An argument nobody listed leaves a pair unproven; those of 0.4.3 to 0.5.23 are all listed."""
    listed = (root / "speclog/launch/server_args.tsv").read_text(encoding="utf-8").splitlines()
    names = [line.split("\t")[0] for line in listed if not line.startswith("#")][1:]
    patterns = [key for factor in read()["factor"] for key in factor["keys"]]
    assert len(names) > 600
    unclassified = [name for name in names if not any(fnmatchcase(f"arg.{name}", p) for p in patterns)]
    assert unclassified == []


def test_every_recorded_prefix_is_classified(root: Path) -> None:
    """What a manifest records of the environment has an entry, whatever the variable's name."""
    recorded = tomllib.loads((root / "speclog/launch/environment.toml").read_text(encoding="utf-8"))
    patterns = [key for factor in read()["factor"] for key in factor["keys"]]
    lacking = [
        prefix
        for prefix in recorded["prefixes"]
        if not any(fnmatchcase(f"env.{prefix}X", p) or f"env.{prefix}" == p for p in patterns)
    ]
    assert lacking == []


def test_no_name_is_listed_twice() -> None:
    keys = [key for factor in read()["factor"] for key in factor["keys"]]
    assert sorted({key for key in keys if keys.count(key) > 1}) == []
