"""A campaign: the sessions of an experiment, one after the other; what was finished is kept, come what may.

``campaign.json`` beside the logs says what was asked for and what has been done, so that a campaign that was
stopped, or crashed, goes on where it was (``speclog launch --resume DIR``).
"""

import json
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from speclog.errors import InputError, LaunchError, SpeclogError, UsageError
from speclog.launch import design, resolve, session
from speclog.launch.interpreter import Answer
from speclog.launch.interrupt import Interrupted, Interrupts
from speclog.launch.manifest import now
from speclog.launch.progress import Progress

STATE = "campaign.json"


@dataclass
class Entry:
    """A planned session and what became of it."""

    stem: str
    arm: str
    repeat: int
    fingerprint: str
    state: str = "planned"  # planned, running, done, failed, interrupted
    log: str | None = None
    reason: str | None = None
    seconds: float | None = None


@dataclass
class Campaign:
    """A folder of logs and the state of the experiment that fills it."""

    folder: Path
    request: design.Request
    runs: list[design.Run]
    entries: list[Entry]
    python: str = ""
    created_at: str = field(default_factory=now)

    def save(self) -> None:
        """Write campaign.json, whole or not at all."""
        told = {
            "version": 1,
            "created_at": self.created_at,
            "python": self.python,
            "request": asdict(self.request),
            "runs": [asdict(entry) for entry in self.entries],
        }
        part = self.folder / f".{STATE}.part"
        try:
            part.write_text(json.dumps(told, indent=1), encoding="utf-8")
            part.replace(self.folder / STATE)
        except OSError as error:
            raise LaunchError(f"{self.folder}: cannot write {STATE}: {error.strerror}", step="log") from error

    def logs(self) -> list[Path]:
        """Logs of all sessions that began, finished or not."""
        return [self.folder / e.log for e in self.entries if e.log and (self.folder / e.log).is_file()]


def create(folder: Path, request: design.Request, python: str = "") -> Campaign:
    """Plan a new campaign in a folder; raises UsageError when the folder holds one already."""
    if (folder / STATE).exists():
        raise UsageError(f"{folder} holds a campaign already: go on with it by --resume {folder}")
    runs = design.schedule(request)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LaunchError(f"{folder}: cannot be made: {error.strerror}", step="preflight") from error
    campaign = Campaign(folder, request, runs, [_entry(run) for run in runs], python)
    campaign.save()
    return campaign


def resume(folder: Path) -> Campaign:
    """Take up the campaign of a folder.

    Raises InputError when there is none, UsageError when a profile has changed since it began.
    """
    try:
        told: dict[str, Any] = json.loads((folder / STATE).read_text(encoding="utf-8"))
        asked: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in told["request"].items()
        }
        entries = [Entry(**entry) for entry in told["runs"]]
        request = design.Request(**asked)
    except OSError as error:
        raise InputError(f"{folder / STATE}: {error.strerror}: no campaign to go on with") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / STATE}: not the state of a campaign: {error}") from error
    runs = design.schedule(request)
    if [_entry(run).fingerprint for run in runs] != [entry.fingerprint for entry in entries]:
        raise UsageError(f"{folder}: a profile has changed since this campaign began; start a new one")
    return Campaign(folder, request, runs, entries, told["python"], told["created_at"])


def _entry(run: design.Run) -> Entry:
    return Entry(run.stem, run.profile.arm, run.repeat, design.fingerprint(run.profile))


@dataclass(frozen=True)
class Manner:
    """How a campaign is run."""

    answer: Answer
    environment: dict[str, str]
    interrupts: Interrupts
    show_host: bool = False
    fail_fast: bool = False
    node_rank: int = 0
    deadline: float | None = None  # time.monotonic()
    finished: Callable[[Path], None] = lambda log: None


def run(campaign: Campaign, manner: Manner, progress: Progress) -> list[SpeclogError]:
    """Run what is not done yet; returns the errors of the sessions that failed.

    Raises Interrupted when told to stop, and the error itself with ``fail_fast``.
    """
    errors: list[SpeclogError] = []
    for index, (planned, entry) in enumerate(zip(campaign.runs, campaign.entries, strict=True)):
        if entry.state == "done":
            continue
        if not _fits(campaign, manner):
            left = sum(e.state != "done" for e in campaign.entries)
            progress.note(f"time limit: {left} sessions left for --resume {campaign.folder}")
            return [*errors, Interrupted(signal.SIGALRM)]
        progress.begin(index, len(campaign.entries), f"{entry.arm}, repeat {entry.repeat}", _left(campaign))
        try:
            _one(campaign, planned, entry, manner, progress)
        except Interrupted:
            raise
        except SpeclogError as error:
            progress.note(f"{entry.stem}: {error}")
            errors.append(error)
            if manner.fail_fast:
                raise
    return errors


def _one(campaign: Campaign, planned: design.Run, entry: Entry, manner: Manner, progress: Progress) -> None:
    log = _free_name(campaign.folder, entry.stem)
    entry.log, entry.state, entry.reason = log.name, "running", None
    campaign.save()
    began = time.monotonic()
    try:
        todo = resolve.session(
            planned.profile, entry.repeat, manner.environment, manner.answer.executable, manner.node_rank
        )
        session.run(todo, log, manner.answer, manner.interrupts, progress.tell, manner.show_host)
        entry.state = "done"
        manner.finished(log)
    except SpeclogError as error:
        entry.state = "interrupted" if isinstance(error, Interrupted) else "failed"
        entry.reason = str(error)
        raise
    finally:
        entry.seconds = round(time.monotonic() - began, 1)
        campaign.save()


def _free_name(folder: Path, stem: str) -> Path:
    """A log name that is not taken: what an earlier attempt left stays."""
    attempts = [f"{stem}.log", *(f"{stem}.try{n}.log" for n in range(2, 1000))]
    return next(folder / name for name in attempts if not (folder / name).exists())


def _fits(campaign: Campaign, manner: Manner) -> bool:
    """Whether a session as long as the last one ends before the deadline (the first ones compile kernels)."""
    if manner.deadline is None:
        return True
    took = [e.seconds or 0.0 for e in campaign.entries if e.state == "done"]
    return time.monotonic() + (took[-1] if took else 0.0) < manner.deadline


def _left(campaign: Campaign) -> float | None:
    """Seconds left by the mean of the finished sessions; None before the first."""
    took = [e.seconds for e in campaign.entries if e.state == "done" and e.seconds]
    todo = sum(e.state != "done" for e in campaign.entries)
    return sum(took) / len(took) * todo if took else None
