"""Entry point of ``speclog``: runs the command line; an error becomes one line and an exit code."""

import errno
import gc
import os
import sys

import click

from speclog import console
from speclog.errors import ExitCode, SpeclogError


def main() -> None:
    """Run the command line; never shows a traceback unless SPECLOG_DEBUG is set."""
    try:
        code = _run()
    except (KeyboardInterrupt, EOFError, click.Abort):
        console.fail("interrupted")
        code = ExitCode.INTERRUPTED
    except (SpeclogError, OSError, RuntimeError) as error:
        code = _answer(error)
    code = _settle_stdout(code)
    # What is left goes with the process; looking through it for cycles took up to a quarter of a run.
    gc.freeze()
    sys.exit(code)


def _run() -> int:
    """The exit code of a command that came to its end, or that click refused."""
    from speclog.cli import cli

    try:
        # Not click's standalone mode: it ends an interrupted command with our code of a failed check.
        result = cli(prog_name="speclog", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SystemExit as end:
        result = ExitCode.OK if _nobody_reads() else end.code
    return result if isinstance(result, int) else ExitCode.OK


def _nobody_reads() -> bool:
    """Whether click met a closed pipe: it wraps stdout then and ends with 1, our code of a failed check."""
    return type(sys.stdout).__name__.endswith("PacifyFlushWrapper")


def _answer(error: Exception) -> int:
    """Say what went wrong in one line; the exit code. Raises what is no fault of the input or the machine."""
    if _is_interrupt(error):
        console.fail("interrupted")
        return ExitCode.INTERRUPTED
    if _is_closed_pipe(error):
        return ExitCode.OK  # `| head` has read enough
    if os.environ.get("SPECLOG_DEBUG") or not isinstance(error, SpeclogError | OSError):
        raise error
    console.fail(console.clean(str(error) if isinstance(error, SpeclogError) else _about(error)))
    return error.exit_code if isinstance(error, SpeclogError) else ExitCode.INPUT


def _is_interrupt(error: Exception) -> bool:
    """DuckDB ends a query on Ctrl-C with an error of its own."""
    return any(known in str(error) for known in ("Query interrupted", "INTERRUPT Error"))


def _is_closed_pipe(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _about(error: OSError) -> str:
    """What the machine refused, and of which file."""
    where = error.filename if error.filename is not None else "reading or writing"
    return f"{where}: {error.strerror or error}"


def _settle_stdout(code: int) -> int:
    """Write out what stdout holds, so that Python's own last flush cannot fail; the exit code after that."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not _is_closed_pipe(error):
            console.fail(f"stdout: {error.strerror}")
            return code or ExitCode.INPUT
    return code


if __name__ == "__main__":
    main()
