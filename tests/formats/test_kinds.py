"""Every declared kind: its samples give exactly the values beside them; wrong declarations are refused."""

from pathlib import Path

import pytest

from speclog.formats.engine import read_line
from speclog.formats.spec import DeclarationError, Kind, Sample, load_kinds, read_kinds
from speclog.formats.wraps import Wrap, load_wraps, unwrap

SAMPLES = [(kind, sample) for kind in load_kinds() for sample in kind.samples]


@pytest.mark.parametrize(
    ("kind", "sample"), SAMPLES, ids=[f"{k.engine}-{k.name}-{s.version}" for k, s in SAMPLES]
)
def test_sample(kind: Kind, sample: Sample) -> None:
    record = read_line(sample.line)
    assert record is not None
    assert record.kind.name == kind.name
    assert record.fields == sample.expect
    assert record.extra == sample.extra
    assert record.prefix.rank == sample.rank


def test_every_field_of_a_column_kind_has_a_unit() -> None:
    missing = [
        f"{k.name}.{f.name}" for k in load_kinds() if k.shape == "pieces" for f in k.fields if not f.unit
    ]
    assert missing == []


@pytest.mark.parametrize("wrap", load_wraps(), ids=lambda w: w.name)
def test_wrap(wrap: Wrap) -> None:
    assert unwrap(wrap.sample) == "[2026-08-01 23:43:46] Memory pool end. avail mem=13.27 GB"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "a"\nwhat = "a"\nshape = "round"\nstarts = ["a"]', "shape must be one of"),
        ('name = "a"\nwhat = "a"\nshape = "text"', "needs a literal"),
        ('name = "a"\nwhat = "a"\nshape = "text"\nstarts = ["a"]', "needs at least one sample"),
        ('name = "a"\nwhat = "a"\nshape = "text"\nstarts = ["a"]\ncolour = 1', "unknown key colour"),
        (
            'name = "a"\nwhat = "a"\nshape = "anchors"\nstarts = ["a"]\n'
            'fields.x = { key = "k", type = "complex" }\n[[kind.sample]]\nline = "a"\nexpect = {}',
            "no type 'complex'",
        ),
    ],
)
def test_wrong_declaration_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(f'engine = "x"\n[[kind]]\n{text}\n')
    with pytest.raises(DeclarationError, match=message):
        read_kinds(file)
