"""docs/fairness.md shows the catalogue as it is."""

from pathlib import Path

from speclog.analysis.factor_table import BEGIN, END, tables


def test_the_table_of_factors_is_current(root: Path) -> None:
    text = (root / "docs/fairness.md").read_text(encoding="utf-8")
    shown = text.split(BEGIN)[1].split(END)[0].strip()
    assert shown == tables(), "run python -m speclog.analysis.factor_table"
