"""Arguments read one by one are those of the whole expression, or the whole expression is read."""

import random
from pathlib import Path

import pytest

from speclog.formats.server_args import _as_a_whole, _by_argument, parse_arguments

SIMPLE = (
    "ServerArgs(a=1, b='x, y', c=None, d=[1, 2], e={'k': ['v', (1,)]}, f=-1e-05, g=A(x=1, y=[B(z='q')]), "
    "api_key='s')"
)


def texts(shared: Path) -> list[str]:
    found = []
    for path in sorted((shared / "logs").rglob("*.log")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if "server_args=" in line:
                found.append(line.split("server_args=", 1)[1].strip())
    return found


def test_every_shared_log_is_read_argument_by_argument(shared: Path) -> None:
    found = texts(shared)
    for text in found:
        assert _by_argument(text) in (None, _as_a_whole(text))
    assert sum(_by_argument(text) is not None for text in found) > 0.8 * len(found) > 10


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (SIMPLE, True),
        ("{'a': 1, 'b': {'c': [1, 2]}, 'd': 'x'}", True),
        ("A()", True),
        ("A(class=1)", False),
        ("A(a=1, a=2)", True),
        ("A(a=1,b=2)", False),
        ("A(a=07)", False),
        ("A(a=1, b)", False),
        ("A(a=[1, 2)", False),
        ("A(a=[1, 2})", False),
        ("A(a='it\\'s')", False),
        ("A(a=<X.Y: 1>)", False),
        ("A(a=1", False),
        ("A(a=1))", False),
        ("A(a='x' 'y')", False),
        ("A(a=x.y, b=1-2)", True),
    ],
)
def test_what_is_plain_to_see(text: str, read: bool) -> None:
    found = _by_argument(text)
    assert (found is not None) == read
    assert found in (None, _as_a_whole(text))


def test_a_key_is_redacted_either_way() -> None:
    found = parse_arguments(SIMPLE)
    assert found is not None
    assert found["api_key"] == '"<redacted>"'
    assert found["g"] == '{"x":1,"y":[{"z":"q"}]}'


def test_any_edit_gives_the_same_as_the_whole_expression() -> None:
    r = random.Random(1)
    agreed = 0
    for _ in range(4000):
        text = list(SIMPLE)
        for _ in range(r.randrange(1, 4)):
            text[r.randrange(len(text))] = r.choice("()[]{}'\",=: ab1.-+\\<>*")
        edited = "".join(text)
        found = _by_argument(edited)
        if found is not None:
            assert found == _as_a_whole(edited), edited
            agreed += 1
    assert agreed > 150
