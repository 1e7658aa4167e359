"""The page in a real Chromium: quiet, closed to the network, drawn, usable by keyboard, accessible."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from speclog.report import render
from speclog.report.model import Chart
from tests.report import build

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "story.html"
    path.write_text(render.html(build.story()), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (360, False), (360, True)])
def test_it_is_quiet_closed_and_drawn(page: Path, visit: Any, width: int, dark: bool) -> None:
    seen = visit(page, width=width, dark=dark)
    assert seen.said == []
    assert seen.outside() == []
    charts = [chart for chart in build.story().sections[0].charts if isinstance(chart, Chart)]
    assert seen.page.locator(".plot[data-drawn=yes] svg").count() == len(charts)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_chart_shows_its_marks(page: Path, visit: Any) -> None:
    seen = visit(page)
    counts = seen.page.evaluate(
        "[...document.querySelectorAll('.plot')].map(p => [p.dataset.chart, "
        "p.querySelectorAll('.mark-rect path, .mark-symbol path, .mark-line path').length])"
    )
    assert all(number > 0 for _, number in counts), counts


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_serious(page: Path, visit: Any, axe: str, width: int, dark: bool) -> None:
    seen = visit(page, width=width, dark=dark)
    seen.page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    seen.page.evaluate(axe)
    found = seen.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [
        (
            rule["id"],
            [node["html"][:200] + " :: " + node["failureSummary"][:300] for node in rule["nodes"]][:3],
        )
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical", "moderate")
    ]
    assert serious == []


def test_filter_and_folds_work_by_keyboard(page: Path, visit: Any) -> None:
    seen = visit(page)
    box = seen.page.locator(".factor-box").last
    box.locator("input.filter").focus()
    seen.page.keyboard.type("nccl_algo")
    assert box.locator("tbody tr:visible").count() == 1
    assert "1 of" in box.locator("output.matches").inner_text()
    seen.page.keyboard.press("Control+A")
    seen.page.keyboard.press("Delete")
    fold = seen.page.locator(".factor-box details.fold").first
    assert fold.get_attribute("open") is None
    fold.locator("summary").focus()
    seen.page.keyboard.press("Enter")
    assert fold.get_attribute("open") is not None
    seen.page.keyboard.press("Enter")
    assert fold.get_attribute("open") is None


def test_a_filter_opens_the_fold_that_holds_the_match(page: Path, visit: Any) -> None:
    seen = visit(page)
    box = seen.page.locator(".factor-box").first
    box.locator("input.filter").focus()
    seen.page.keyboard.type("driver")
    assert box.locator("tbody tr:visible").count() == 1


def test_evidence_links_open_their_fold(page: Path, visit: Any) -> None:
    seen = visit(page)
    link = seen.page.locator("table.levels a[href^='#ev-']").first
    target = link.get_attribute("href")
    link.focus()
    seen.page.keyboard.press("Enter")
    assert seen.page.locator(target).is_visible()


def test_csv_download_is_what_the_chart_shows(page: Path, visit: Any) -> None:
    seen = visit(page)
    figure = seen.page.locator("figure.chart[id^=breakeven]").first
    with seen.page.expect_download() as download:
        figure.locator("button.download").first.click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.splitlines()[0].startswith("batch_size,")
    assert len(text.splitlines()) == 4


def test_a_long_table_is_built_on_opening(page: Path, visit: Any) -> None:
    seen = visit(page)
    long = seen.page.locator("details[data-table]")
    if long.count() == 0:
        pytest.skip("no table of this page is long enough")
    long.first.locator("summary").click()
    rows = long.first.locator("tbody tr")
    rows.first.wait_for()  # the browser tells of the opening a little later
    assert rows.count() > render.TABLE_LIMIT


def test_theme_button_redraws(page: Path, visit: Any) -> None:
    seen = visit(page)
    background = "getComputedStyle(document.body).backgroundColor"
    light = seen.page.evaluate(background)
    seen.page.locator("#theme").click()
    seen.page.locator("#theme").click()
    seen.page.wait_for_selector("html[data-theme=dark][data-charts=drawn]")
    assert seen.page.evaluate(background) != light
    assert seen.said == []


def test_no_inline_handlers_and_a_policy(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    body = text[: text.index('<script type="application/json"')]
    assert "Content-Security-Policy" in body
    assert "unsafe" not in body
    assert not [word for word in (" onclick=", " onload=", " onerror=", "javascript:") if word in body]
    assert len(text.encode()) < 3_000_000
