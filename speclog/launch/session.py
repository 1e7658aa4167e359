"""One session from its first line to its last: manifest, server, warm-up, workload, stop."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from speclog import whole
from speclog.errors import LaunchError, SpeclogError
from speclog.launch import environment, machine, manifest
from speclog.launch.bench import Client, arguments, keep_result
from speclog.launch.endpoint import Endpoint
from speclog.launch.interpreter import Answer
from speclog.launch.interrupt import Interrupts
from speclog.launch.logfile import LogFile
from speclog.launch.manifest import Session
from speclog.launch.server import Server

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Sidecars:
    """The files beside a log, found by its stem."""

    log: Path

    @property
    def server_info(self) -> Path:
        """The server's own account of itself."""
        return self.log.with_name(f"{self.log.stem}.server_info.json")

    @property
    def results(self) -> Path:
        """bench_serving's results, one JSON object a step."""
        return self.log.with_name(f"{self.log.stem}.bench.jsonl")

    @property
    def tables(self) -> Path:
        """What bench_serving printed."""
        return self.log.with_name(f"{self.log.stem}.bench.txt")

    @property
    def scratch(self) -> Path:
        """Where bench_serving writes the result of the step that runs now."""
        return self.log.with_name(f"{self.log.stem}.bench.part")


def run(
    session: Session, log: Path, answer: Answer, interrupts: Interrupts, tell: Tell, show_host: bool = False
) -> None:
    """Run one session into ``log``; returns when it has ended well and no process of it is left.

    Raises LaunchError (its ``step`` says where) or Interrupted; the log then still ends with SPECLOG_END.
    """
    here = machine.look(session.env)
    file = LogFile(log)
    try:
        file.add(manifest.line(manifest.build(session, answer, here, show_host)))
        _serve(session, file, interrupts, tell)
    finally:
        file.close()


def _serve(session: Session, file: LogFile, interrupts: Interrupts, tell: Tell) -> None:
    options = session.profile.options
    server = Server(session.argv, session.env, file.path, options.stop_grace_s)
    exit_code, reason = 0, "done"
    try:
        with _client(session, file.path) as client:
            _work(session, file, server, client, interrupts, tell)
        tell("stopping")
    except SpeclogError as error:
        exit_code, reason = int(error.exit_code), str(error)
        raise
    except BaseException as error:
        exit_code, reason = 1, f"{type(error).__name__}: {error}"
        raise
    finally:
        code = server.stop(interrupts)
        try:
            file.end(exit_code, reason, server_exit_code=code)
        except LaunchError:
            if exit_code < 128:  # a log that is full is why the rest failed; a signal is a signal
                raise
        finally:
            server.bye()


@contextmanager
def _client(session: Session, log: Path) -> Iterator[Client | None]:
    if session.node_rank:
        yield None
        return
    client = Client(session.argv[0], session.env, Sidecars(log).tables, _endpoint(session))
    try:
        yield client
    finally:
        client.close()
        with contextlib.suppress(OSError):
            Sidecars(log).scratch.unlink()


def _work(
    session: Session, file: LogFile, server: Server, client: Client | None, interrupts: Interrupts, tell: Tell
) -> None:
    if client is None:
        tell("serving as a further node, until the first one ends")
        while server.poll() is None:
            interrupts.sleep(0.5)
        if server.exit_code:
            raise LaunchError(server.why(), step="workload")
        return
    endpoint = _endpoint(session)
    tell("booting")
    took = server.wait_ready(endpoint, session.profile.options.boot_timeout_s, interrupts)
    tell(f"ready after {took:.0f} s")

    load = session.profile.workload
    for batch_size in load.batch_sizes if load.warmup_output_len else []:
        tell(f"warm-up, batch size {batch_size}")
        _step(session, file, client, endpoint, batch_size, server, interrupts, warmup=True)
    for batch_size in load.batch_sizes:
        if load.flush_cache and not endpoint.flush_cache():
            tell("the server did not flush its cache")
        tell(f"batch size {batch_size}: {load.prompts(batch_size)} requests")
        _step(session, file, client, endpoint, batch_size, server, interrupts)
    server.check_alive("save")
    _save_server_info(endpoint, Sidecars(file.path).server_info)


def _step(
    session: Session,
    file: LogFile,
    client: Client,
    endpoint: Endpoint,
    batch_size: int,
    server: Server,
    interrupts: Interrupts,
    warmup: bool = False,
) -> None:
    beside = Sidecars(file.path)
    step, kind = ("warmup", "warmup") if warmup else (f"bs{batch_size}", "measure")
    load = session.profile.workload
    argv = arguments(load, endpoint, batch_size, str(beside.scratch), warmup)
    name = "warmup" if warmup else "workload"

    def check() -> None:
        interrupts.check()
        server.check_alive(name)

    file.workload("begin", step, kind, batch_size)
    try:
        client.run(argv, session.profile.options.step_timeout_s, check, name)
    except LaunchError:
        _let_die(server, interrupts)
        server.check_alive(name)
        raise
    finally:
        file.workload("end", step, kind, batch_size)
    if warmup:
        beside.scratch.unlink(missing_ok=True)
    else:
        keep_result(beside.scratch, beside.results, step, load.prompts(batch_size))


def _let_die(server: Server, interrupts: Interrupts, patience_s: float = 3.0) -> None:
    """A client fails a moment before the server it talks to is seen dead: wait for that moment."""
    deadline = time.monotonic() + patience_s
    while server.poll() is None and time.monotonic() < deadline:
        interrupts.sleep(0.1)


def _save_server_info(endpoint: Endpoint, path: Path) -> None:
    info = endpoint.server_info()
    if info is None:
        raise LaunchError("the server does not answer /server_info", step="save")
    try:
        whole.write(path, json.dumps(environment.scrub_json(info)))
    except OSError as error:
        raise LaunchError(f"{path}: cannot write: {error.strerror}", step="save") from error


def _endpoint(session: Session) -> Endpoint:
    return Endpoint(
        _option(session, "--host"), int(_option(session, "--port")), _option(session, "--api-key")
    )


def _option(session: Session, flag: str) -> str:
    argv = session.argv
    return argv[argv.index(flag) + 1] if flag in argv else ""
