"""The bar of a long report: on a terminal, when it takes long, and never on stdout."""

import io
import sys
import time

import pytest

from speclog.report import progress


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds: float) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE_S", 0.2)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with progress.progress_bar() as step:
        step("judging [red]pairs", 0.25)
        end = time.monotonic() + seconds
        while time.monotonic() < end and (seconds < 0.1 or "judging" not in stream.getvalue()):
            time.sleep(0.02)  # as within one long query: no further step is told
        step("writing", 0.9)
    return stream.getvalue()


def test_a_long_report_shows_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "judging [red]pairs" in shown(monkeypatch, Terminal(), 30)


def test_a_short_one_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 60)
    assert shown(monkeypatch, Terminal(), 0) == ""


def test_without_a_terminal_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), 0.5) == ""
