"""Content that wants to be code: it stays text in every format and in the charts' data."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from speclog.errors import UsageError
from speclog.report import as_json, markdown, render, rows
from speclog.report.model import Answer, Chart, Pair, Report
from tests.report import build

NASTY = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE run; --",
    "</pre></code></table><!-- ",
    "${7*7}{{7*7}}{% raw %}",
    '=HYPERLINK("http://x","y")',
    "a|b`c``d*e_f[g](javascript:alert(1))",
    "\u2028line\u2029sep",
    "@everyone #1 ~~x~~",
    "שלום/עולם",
]
RAW = ["\x1b[31mred\x1b[0m", "a\u202egnp.exe", "nul\x00l", "bell\x07", "tab\tand\nnewline", "iso\u2066late"]


def hostile(text: str) -> Report:
    """The story with every name, value, reason and path replaced by a hostile text."""
    report = build.story()
    text = rows.harmless(text)
    for section in report.sections:
        run = replace(section.run, name=text, source=text, model=text, note=text)

        def changed(pair: Pair, run: Any = run) -> Pair:
            factors = tuple(
                replace(
                    f, name=text, candidate_value=text, mend=text, baseline_value=text + " other", worth=text
                )
                for f in pair.factors
            )
            levels = tuple(
                replace(level, candidate_lines=f"{text}:1-2", baseline_lines=text) for level in pair.levels
            )
            baseline = replace(pair.baseline, name=text)
            return replace(
                pair, candidate=run, baseline=baseline, factors=factors, levels=levels, reasons=(text,)
            )

        section.run = run
        section.pairs = [changed(pair) for pair in section.pairs]
        section.chosen = section.fair = section.pairs[0]
        section.naive = section.pairs[1]
        section.stale = [text]
        section.answers = [
            Answer("worth", text, text=text, estimate=True, rows=({"with": text},)),
            Answer("shares", text, why_not=text),
        ]
        section.missing = [
            replace(one, title=text, command=text, why=text, target=text) for one in section.missing
        ]
        section.headline = section.change = text
        section.charts = build.charts(section.pairs[0], name=text)
    report.title = report.summary = report.command = report.store = text
    return report


class Tags(HTMLParser):
    """Every tag and attribute of a page, and the text of its scripts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


@pytest.mark.parametrize("text", [*NASTY, *RAW])
def test_html_holds_it_as_text(text: str) -> None:
    plain, page = Tags(), Tags()
    plain.feed(render.html(hostile("harmless")))
    page.feed(render.html(hostile(text)))
    assert page.tags.count("script") == plain.tags.count("script")
    assert page.tags.count("img") == 0
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    links = [value or "" for name, value in page.attributes if name in ("href", "src", "action")]
    assert all(link.startswith(("#", "data:,")) for link in links)


@pytest.mark.parametrize("text", RAW)
def test_control_and_bidi_characters_reach_no_format(text: str) -> None:
    report = hostile(text)
    for made in (render.html(report), markdown.text(report), as_json.text(report)):
        body = made.split("<script>", 1)[0]  # the drawing code is ours
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069]", body)


@pytest.mark.parametrize("text", [*NASTY, *RAW])
def test_chart_data_and_specs_are_json_and_csv(text: str) -> None:
    page = render.html(hostile(text))
    block = page.split('id="specs">', 1)[1].split("</script>", 1)[0]
    specs = json.loads(block)
    assert specs
    assert not re.search("[<>&\u2028\u2029]", block)


@pytest.mark.parametrize("text", NASTY)
def test_markdown_has_no_markup_from_outside(text: str) -> None:
    """Read back by a Markdown parser: no HTML but our own, no link, no cell that a value added."""
    from markdown_it import MarkdownIt

    def tokens(source: str) -> list[Any]:
        blocks = MarkdownIt("commonmark").enable("table").parse(source)
        return [token for block in blocks for token in [block, *(block.children or [])]]

    plain, found = tokens(markdown.text(hostile("harmless"))), tokens(markdown.text(hostile(text)))
    html = [token.content for token in found if token.type.startswith("html")]
    assert html == ["<sub>", "</sub>"]
    for kind in (
        "link_open",
        "image",
        "td_open",
        "th_open",
        "heading_open",
        "fence",
        "hr",
        "s_open",
        "em_open",
    ):
        assert sum(token.type == kind for token in found) == sum(token.type == kind for token in plain), kind


def test_csv_cells_are_no_formulas() -> None:
    report = hostile('=HYPERLINK("http://x")')
    charts = [chart for chart in report.sections[0].charts if isinstance(chart, Chart)]
    texts = [render.csv_text(data) for chart in charts for data in chart.data]
    assert any("HYPERLINK" in text for text in texts)
    assert not [line for text in texts for line in text.splitlines() if re.search(r'(^|,)"?=', line)]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("report.html.j2", "{{ nothing_called_so }}", ":1: 'nothing_called_so' is undefined"),
        ("report.html.j2", "one\n{% if %}", ":2: Expected an expression, got 'end of statement block'"),
        ("report.html.j2", "one\n\n{{ 1 / 0 }}", ":3: division by zero"),
        ("report.html.j2", "{{ report.summary + 1 }}", ':1: can only concatenate str (not "int") to str'),
        ("report.html.j2", "{% include 'not-there' %}", ":1: no template is called not-there"),
        (
            "formulas.html.j2",
            "\n{{ report.nothing }}",
            ":2: 'speclog.report.model.Report object' has no",
        ),
        ("formulas.html.j2", "\n{% for x in %}", ":2: Expected an expression, got 'end of statement block'"),
    ],
)
def test_a_mistake_in_a_template_is_one_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError) as raised:
        render.html(build.story(), templates=tmp_path)
    assert str(raised.value).startswith(f"{tmp_path / name}{said}")
    assert "\n" not in str(raised.value)


def test_a_mistake_of_ours_is_no_usage_error(tmp_path: Path) -> None:
    report = build.story()
    report.sections = None  # type: ignore[assignment]
    with pytest.raises(TypeError):
        render.html(report, templates=tmp_path)


def test_a_template_of_the_users_replaces_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "formulas.html.j2").write_text("<p>our own words</p>")
    (tmp_path / "report.css").write_text(":root { --paper: #fafaf0; }")
    made = render.html(build.story(), templates=tmp_path)
    assert "our own words" in made
    assert "#fafaf0" in made
