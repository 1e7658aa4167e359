"""Asked of the interpreter that has SGLang: versions, plugins, and whether its parser takes our arguments.

Run by path in that interpreter, which need not have speclog: standard library only, plus what it looks at.
Input on stdin: a JSON list of argument lists. Output on the last line of stdout: one JSON object.
"""

import contextlib
import importlib.metadata
import io
import json
import platform
import sys
from typing import Any


def main() -> None:
    """Answer on stdout; what the imports print goes to stderr."""
    asked = json.loads(sys.stdin.read() or "[]")
    with contextlib.redirect_stdout(sys.stderr):
        answer: dict[str, Any] = {
            "python": platform.python_version(),
            "executable": sys.executable,
            "sglang": _version("sglang"),
            "torch": _version("torch"),
            "plugins": _plugins(),
        }
        answer |= _torch_facts()
        answer["refused"] = [_refusal(argv) for argv in asked]
    print(json.dumps(answer))


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _plugins() -> list[str]:
    return sorted(str(e.name) for e in importlib.metadata.entry_points(group="sglang.srt.plugins"))


def _torch_facts() -> dict[str, Any]:
    facts: dict[str, Any] = {"cuda": None, "nccl": None, "gpus": None, "torch_error": None}
    try:
        import torch

        facts["cuda"] = torch.version.cuda
        count = torch.cuda.device_count()
        facts["gpus"] = [torch.cuda.get_device_name(i) for i in range(count)]
        if torch.version.cuda:
            facts["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    except Exception as error:
        facts["torch_error"] = f"{type(error).__name__}: {error}"
    return facts


def _refusal(argv: list[str]) -> str | None:
    """What SGLang's own parser has against these server arguments; None when it takes them."""
    try:
        import argparse

        from sglang.srt.server_args import ServerArgs
    except Exception as error:
        return f"import: {type(error).__name__}: {error}"
    parser = argparse.ArgumentParser(prog="sglang", allow_abbrev=False)
    ServerArgs.add_cli_args(parser)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser.parse_args(argv)
    except SystemExit:
        lines = said.getvalue().strip().splitlines() or ["refused"]
        options = sorted(str(o) for a in parser._actions for o in a.option_strings)
        return json.dumps({"text": lines[-1].partition("error: ")[2] or lines[-1], "options": options})
    return None


if __name__ == "__main__":
    main()
