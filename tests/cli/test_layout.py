"""How the tests themselves lie: pytest imports modules by their bare name."""

from collections import Counter
from pathlib import Path


def test_no_two_test_modules_share_a_name(root: Path) -> None:
    names = Counter(path.name for path in (root / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
