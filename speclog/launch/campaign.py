"""A campaign: the sessions of an experiment, one after the other; what was finished is kept, come what may.

``campaign.json`` beside the logs says what was asked for and what has been done, so that a campaign that was
stopped, or crashed, goes on where it was (``speclog launch --resume DIR``).
"""

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
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
_LOCK = ".campaign.lock"

Setting = dict[str, dict[str, str | None]]


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
    isolate: bool = False
    setting: Setting = field(default_factory=dict)
    created_at: str = field(default_factory=now)
    begun: bool = False

    def save(self) -> None:
        """Write campaign.json, whole or not at all."""
        told = {
            "version": 1,
            "created_at": self.created_at,
            "python": self.python,
            "isolate": self.isolate,
            "directory": str(Path.cwd()),
            "setting": self.setting,
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


def create(folder: Path, request: design.Request, python: str = "", isolate: bool = False) -> Campaign:
    """Plan a new campaign in a folder, of which nothing is written until it is ``held``.

    Raises UsageError when the folder holds one already.
    """
    _refuse_taken(folder)
    runs = design.schedule(request)
    return Campaign(folder, request, runs, [_entry(run) for run in runs], python, isolate)


def _refuse_taken(folder: Path) -> None:
    if (folder / STATE).exists():
        raise UsageError(f"{folder} holds a campaign already: go on with it by --resume {folder}")


@contextlib.contextmanager
def held(campaign: Campaign) -> Iterator[None]:
    """Keep the campaign's folder to this process, and write the state of one that begins.

    Raises UsageError when another process runs a campaign there, or has begun one since this one was planned;
    LaunchError when the folder cannot be made.
    """
    folder = campaign.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise LaunchError(f"{folder}: cannot be made: {error.strerror}", step="preflight") from error
    try:
        _lock(lock, folder)
    except UsageError:
        os.close(lock)
        raise
    try:
        if not campaign.begun:
            _refuse_taken(folder)
            campaign.begun = True
            campaign.save()
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / _LOCK).unlink()
        os.close(lock)


def _lock(lock: int, folder: Path) -> None:
    """Raise UsageError unless the lock is ours and still the one of the folder: who ends, takes it away."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ours = os.fstat(lock).st_nlink > 0
    except BlockingIOError:
        ours = False
    except OSError:
        return  # a file system without locks: the logs themselves are still never overwritten
    if not ours:
        raise UsageError(
            f"{folder}: another speclog launch is running this campaign; wait for it, or take another --out"
        )


def resume(folder: Path) -> Campaign:
    """Take up the campaign of a folder.

    Raises InputError when there is none, UsageError when a profile has changed since it began, or cannot be
    found from here.
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
    runs = _scheduled(folder, request, str(told.get("directory", "")))
    if [_entry(run).fingerprint for run in runs] != [entry.fingerprint for entry in entries]:
        raise UsageError(f"{folder}: a profile has changed since this campaign began; start a new one")
    return Campaign(
        folder, request, runs, entries, told["python"], bool(told.get("isolate")), told.get("setting", {}),
        told["created_at"], begun=True,
    )  # fmt: skip


def _scheduled(folder: Path, request: design.Request, directory: str) -> list[design.Run]:
    try:
        return design.schedule(request)
    except SpeclogError as error:
        if directory in ("", str(Path.cwd())):
            raise
        raise UsageError(
            f"{folder}: {error}; this campaign was begun in {directory}: resume it there"
        ) from error


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
            return [*errors, Interrupted(signal.SIGALRM)]
        progress.begin(index, len(campaign.entries), f"{entry.arm}, repeat {entry.repeat}", _left(campaign))
        try:
            _one(campaign, planned, entry, manner, progress)
        except Interrupted:
            raise
        except SpeclogError as error:
            progress.note(f"{entry.stem}: {error}{_where(campaign, entry)}")
            errors.append(error)
            if manner.fail_fast:
                raise
    return errors


def _where(campaign: Campaign, entry: Entry) -> str:
    """The log of a session that failed, when it has one."""
    log = campaign.folder / (entry.log or "")
    return f"; log: {log}" if log.is_file() else ""


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
