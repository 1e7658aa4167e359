"""Entry point of ``speclog``: runs the command line; an error becomes one line and an exit code."""

import os
import sys

from speclog.errors import ExitCode, SpeclogError


def main() -> None:
    """Run the command line; never shows a traceback unless SPECLOG_DEBUG is set."""
    from speclog import console
    from speclog.cli import cli

    try:
        cli(prog_name="speclog", standalone_mode=True)
    except SpeclogError as error:
        if os.environ.get("SPECLOG_DEBUG"):
            raise
        console.fail(console.clean(str(error)))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        console.fail("interrupted")
        sys.exit(ExitCode.INTERRUPTED)
    except SystemExit:
        if _nobody_reads():
            sys.exit(ExitCode.OK)
        raise
    finally:
        _settle_stdout()


def _nobody_reads() -> bool:
    """Whether click met a closed pipe: it wraps stdout then and ends with 1, our code of a failed check."""
    return type(sys.stdout).__name__.endswith("PacifyFlushWrapper")


def _settle_stdout() -> None:
    """Write out what stdout holds; where nobody reads it, Python's own last flush must not fail."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
