"""A real Chromium for the page tests; without one (or without Playwright) they are skipped, and say so."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

AXE = "4.14.1"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def _one_bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the drawing code of this test session in one place, outside the user's cache."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.getbasetemp().parent / "speclog-cache")
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium, driven by Playwright."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    chromium = (
        os.environ.get("SPECLOG_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    )
    if chromium is None:
        pytest.skip("no Chromium here (apt-get install chromium, or SPECLOG_CHROMIUM=path)")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def axe(root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core: one file from the npm registry, kept under .cache."""
    kept = root / ".cache" / f"axe-{AXE}.min.js"
    if not kept.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("axe-core is not here and npm is not installed: accessibility not checked")
        folder = tmp_path_factory.mktemp("axe")
        done = subprocess.run(
            [npm, "pack", f"axe-core@{AXE}"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            pytest.skip("axe-core cannot be fetched from the npm registry: accessibility not checked")
        with tarfile.open(next(folder.glob("*.tgz"))) as archive:
            source = archive.extractfile("package/axe.min.js")
            assert source is not None
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(source.read())
    return kept.read_text(encoding="utf-8")


class Visit:
    """A page open in Chromium, with everything it said and asked for."""

    def __init__(self, browser: Any, path: Path, *, width: int = 1280, dark: bool = False) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            bypass_csp=False,
        )
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-charts=drawn]", timeout=60_000)

    def outside(self) -> list[str]:
        """Requests that left the page: none may."""
        return [url for url in self.asked if not url.startswith(("file:", "data:", "blob:"))]

    def close(self) -> None:
        self.context.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Open pages; they are closed at the end of the test."""
    opened: list[Visit] = []

    def open_page(path: Path, **how: Any) -> Visit:
        opened.append(Visit(browser, path, **how))
        return opened[-1]

    yield open_page
    for one in opened:
        one.close()
