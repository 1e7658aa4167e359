"""From a request to finished logs: preflight, the campaign, ingest, ranking, report."""

import contextlib
import importlib.util
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from speclog.errors import ExitCode, LaunchError, SpeclogError
from speclog.launch import (
    campaign,
    checks,
    continuity,
    design,
    environment,
    interpreter,
    machine,
    ranking,
    resolve,
    server_args,
)
from speclog.launch.interpreter import Answer
from speclog.launch.interrupt import Interrupted, Interrupts, caught
from speclog.launch.profile import Profile
from speclog.launch.progress import Progress


@dataclass(frozen=True)
class Choices:
    """How a campaign is run, as the command line says it."""

    folder: Path | None = None
    resume: Path | None = None
    python: str = ""
    isolate: bool = False
    force: bool = False
    show_host: bool = False
    fail_fast: bool = False
    node_rank: int = 0
    time_limit_s: float = 0.0
    ingest: bool = True
    report: bool = True
    store: str = "speclog.duckdb"


def conduct(request: design.Request, choices: Choices, progress: Progress) -> str | None:
    """Run a campaign to its end and return the path of the report, if one was made.

    Prints each finished log on stdout. Raises UsageError or LaunchError before anything runs when
    the preflight fails, the first error of a session after everything else ran, Interrupted when stopped.
    """
    began = time.monotonic()
    with caught(choices.time_limit_s) as interrupts:
        todo = _plan(request, choices)
        shell = _shell(todo.isolate or choices.isolate)
        answer = prepare(todo, choices, shell, interrupts, progress)
        manner = campaign.Manner(
            answer=answer,
            environment=dict(shell),
            interrupts=interrupts,
            show_host=choices.show_host,
            fail_fast=choices.fail_fast,
            node_rank=choices.node_rank,
            deadline=began + choices.time_limit_s if choices.time_limit_s else None,
            finished=_show,
        )
        errors = _run(todo, manner, progress)
    report, unread = finish(todo, choices, answer, progress)
    if errors:
        raise _summary(errors, len(todo.entries))
    if unread:
        raise unread
    return report


def _run(todo: campaign.Campaign, manner: campaign.Manner, progress: Progress) -> list[SpeclogError]:
    """Run the campaign in its folder, which is this process's own meanwhile; the errors of its sessions."""
    with campaign.held(todo):
        if any(entry.state != "done" for entry in todo.entries):
            progress.note(f"logs: {todo.folder}")
        try:
            errors = campaign.run(todo, manner, progress)
        except Interrupted as stop:
            _go_on(todo, stop, progress)
            if not stop.timed:
                raise
            return [stop]
        finally:
            progress.clear()
    if errors and isinstance(errors[-1], Interrupted):
        _go_on(todo, errors[-1], progress)
    return errors


def _go_on(todo: campaign.Campaign, stop: Interrupted, progress: Progress) -> None:
    left = sum(entry.state != "done" for entry in todo.entries)
    of = f"{left} of {len(todo.entries)} sessions left; " if len(todo.entries) > 1 else ""
    progress.note(f"{stop}; {of}go on with: speclog launch --resume {shlex.quote(str(todo.folder))}")


def _show(log: Path) -> None:
    """Print a finished log's path; nobody may be reading any more."""
    with contextlib.suppress(OSError):
        print(log, flush=True)


def _plan(request: design.Request, choices: Choices) -> campaign.Campaign:
    if choices.resume:
        return campaign.resume(choices.resume)
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    name = request.profiles[0].split("+")[0].removesuffix(".toml").rpartition("/")[2]
    return campaign.create(
        choices.folder or Path("logs") / f"{stamp}-{name}", request, choices.python, choices.isolate
    )


def _shell(isolate: bool) -> Mapping[str, str]:
    """The environment the profile's is laid over: this shell's, without what ``--isolate`` drops."""
    shell = dict(os.environ)
    return environment.compose(shell, {}, environment.foreign(shell, ())) if isolate else shell


def prepare(
    todo: campaign.Campaign,
    choices: Choices,
    shell: Mapping[str, str],
    interrupts: Interrupts,
    progress: Progress,
) -> Answer:
    """Ask the interpreter about all arms and run the preflight; warnings go to stderr.

    Raises UsageError when SGLang refuses an arm's arguments, LaunchError (preflight) when a check fails, or
    when a campaign that is resumed would not run as it began; Interrupted when told to stop.
    """
    arms = list({run.profile.arm: run.profile for run in todo.runs}.values())
    python = interpreter.find(choices.python or todo.python or arms[0].options.python)
    progress.note("asking SGLang about the arguments")
    answer = interpreter.ask(
        python, [_argv(arm, choices) for arm in arms], resolve.variables(arms[0], shell), interrupts.check
    )
    seen: set[checks.Check] = set()
    failed: list[checks.Check] = []
    for arm, refused in zip(arms, answer.refused, strict=True):
        interpreter.check_version(arm.options.sglang, answer.sglang, arm.arm)
        interpreter.check_arguments(refused, arm.arm, answer.sglang)
        here = machine.look(resolve.variables(arm, shell))
        for check in checks.preflight(arm, answer, here, todo.folder, shell):
            if check not in seen and check.status in (checks.WARN, checks.FAIL):
                progress.note(f"{check.status}: {check.check}: {check.found}{_mend(check)}")
                failed += [check] if check.status == checks.FAIL else []
            seen.add(check)
    for check in checks.store(choices.store) if choices.ingest else ():
        progress.note(f"{check.status}: {check.check}: {check.found}{_mend(check)}")
        failed.append(check)
    setting = continuity.setting(shell, answer, machine.look(dict(shell)))
    interrupts.check()  # what a signal ended, nvidia-smi too, gave no answer
    left = any(entry.state != "done" for entry in todo.entries)
    for check in _moved(todo.setting, setting, arms) if left else ():
        progress.note(f"{check.status}: {check.check}: {check.found}{_mend(check)}")
        failed.append(check)
    todo.setting = todo.setting or setting
    if failed and not choices.force:
        first = failed[0]
        raise LaunchError(
            f"{first.check}: {first.found}{_mend(first)} (--force launches anyway)", step="preflight"
        )
    return answer


def _moved(then: campaign.Setting, now: campaign.Setting, arms: Sequence[Profile]) -> Iterator[checks.Check]:
    """What is not as it was when the campaign began; its sessions would be those of two experiments."""
    for name, found in continuity.moved(then, now, arms):
        yield checks.Check(name, checks.FAIL, found, "set it as it was, or start a new campaign")


def _argv(arm: Profile, choices: Choices) -> list[str]:
    return server_args.to_argv(resolve.arguments(arm, choices.node_rank))


def _mend(check: checks.Check) -> str:
    return f" -> {check.mend}" if check.mend else ""


def finish(
    todo: campaign.Campaign, choices: Choices, answer: Answer, progress: Progress
) -> tuple[str | None, SpeclogError | None]:
    """Ingest the logs, rank a sweep, write the report when there are two sides.

    The report's path or None, and the error when not all logs could be ingested, or no report be written.
    """
    logs = [str(log) for log in todo.logs()]
    if todo.request.sweeps:
        for line in ranking.write(todo, answer):
            progress.note(line)
    if not (choices.ingest and logs):
        return None, None
    if any(importlib.util.find_spec(package) is None for package in ("polars", "duckdb")):
        progress.note(
            f"not ingested: no polars and duckdb in this environment; later: speclog ingest {todo.folder}"
        )
        return None, None
    code, _ = _speclog(choices, "ingest", *logs)
    again = f"speclog --store {shlex.quote(choices.store)} ingest {shlex.quote(str(todo.folder))}"
    why = f"not all logs were ingested, for the reason above; later: {again}"
    unread = _after(code, why) if code else None
    if not choices.report or code not in (0, ExitCode.INPUT):  # of logs that cannot be used the others were
        return None, unread
    done = [run.profile for run, entry in zip(todo.runs, todo.entries, strict=True) if entry.state == "done"]
    if len({profile.speculative for profile in done}) < 2:
        return None, unread
    code, written = _speclog(choices, "report", "--vs", "baseline")
    if code:
        return None, _after(code, "no report was written, for the reason above; the logs are in the store")
    return (written.splitlines()[-1] if written.strip() else None), unread


def _speclog(choices: Choices, *words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "speclog", "--store", choices.store, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def _after(code: int, text: str) -> SpeclogError:
    """What went wrong once all sessions had run, with the exit code of the command that failed."""
    error = SpeclogError(text)
    error.exit_code = code if code > 0 else 128 - code
    return error


def _summary(errors: list[SpeclogError], planned: int) -> SpeclogError:
    if len(errors) == 1 and planned == 1:
        return errors[0]
    failed = [error for error in errors if not isinstance(error, Interrupted)]
    if not failed:
        return errors[0]
    first = failed[0]
    summary = SpeclogError(f"{len(failed)} of {planned} sessions failed; the first: {first}")
    summary.exit_code = first.exit_code
    return summary
