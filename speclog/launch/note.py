"""``python -m speclog.launch.note PROFILE [--with O] [--set K=V] -- COMMAND``: a manifest, for scripts.

Run by the scripts that ``speclog launch --print`` writes, in the environment the server will get.
"""

import argparse
import os
import sys

from speclog.errors import SpeclogError
from speclog.launch import interpreter, machine, manifest
from speclog.launch.profile import load
from speclog.launch.resolve import PROFILER, arguments


def main(words: list[str]) -> int:
    """Print the manifest of the session this script is about to run; exit 2 when the profile is not here."""
    own, command = words[: words.index("--")], words[words.index("--") + 1 :]
    parser = argparse.ArgumentParser(prog="speclog.launch.note")
    parser.add_argument("profile")
    parser.add_argument("--with", dest="overlays", action="append", default=[])
    parser.add_argument("--set", dest="sets", action="append", default=[])
    told = parser.parse_args(own)
    try:
        profile = load(told.profile, told.overlays, told.sets)
        env = dict(os.environ)
        session = manifest.Session(
            profile=profile,
            repeat=int(env.get("SPECLOG_REPEAT", "1")),
            argv=command,
            env=env,
            model_path=str(arguments(profile)["model_path"]),
            plugins=(PROFILER,) if profile.options.profiler else (),
            node_rank=int(env.get("SPECLOG_NODE_RANK", "0")),
        )
        answer = interpreter.ask(command[0], [], env)
        print(manifest.line(manifest.build(session, answer, machine.look(env))))
    except SpeclogError as error:
        print(f"speclog: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
