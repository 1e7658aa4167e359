"""The plain shell script that does what ``speclog launch`` does for one session (``--print``)."""

import re
import shlex

from speclog.console import clean
from speclog.errors import UsageError
from speclog.launch import environment, server_args
from speclog.launch.bench import arguments as bench_arguments
from speclog.launch.endpoint import Endpoint
from speclog.launch.profile import Profile
from speclog.launch.resolve import FROM_ENV, arguments, folders
from speclog.resources import directory


def write(profile: Profile, python: str = "", isolate: bool = False) -> str:
    """The script as text: environment, server, log, workload, /server_info, stop.

    ``python`` overrides the profile's interpreter; ``isolate`` drops tuning variables of the script's shell.
    It needs bash and the interpreter that has SGLang; speclog is not needed, but where that interpreter has
    it the log gets its manifest.
    """
    template = (directory("launch") / "session.sh.in").read_text(encoding="utf-8")
    filled = {
        "ARM": profile.arm,
        "ABOUT": profile.about,
        "COMMAND": _command(profile, python, isolate),
        "PYTHON": shlex.quote(python or profile.options.python or "python3"),
        "STEM": shlex.quote(profile.arm.replace(" ", ",")),
        "BOOT_S": f"{profile.options.boot_timeout_s:.0f}",
        "GRACE_S": f"{profile.options.stop_grace_s:.0f}",
        "FLUSH": "1" if profile.workload.flush_cache else "0",
        "ENVIRONMENT": (_isolation() if isolate else "") + _environment(profile),
        "MODULE": profile.options.module,
        "SERVER": _options(server_args.to_argv(_server(profile))),
        "HOST": _host(profile),
        "PORT": str(arguments(profile, expand=False)["port"]),
        "PROFILE": " ".join(map(shlex.quote, profile.words)),
        "STEPS": _steps(profile),
    }
    for name, text in filled.items():
        template = template.replace(f"@{name}@", text)
    return template


def _command(profile: Profile, python: str, isolate: bool) -> str:
    more = [*(["--python", python] if python else []), *(["--isolate"] if isolate else [])]
    return shlex.join(["speclog", "launch", *profile.words, *more, "--print"])


def _isolation() -> str:
    """Lines that unset what a manifest would record of the shell, as ``--isolate`` does."""
    patterns = "|".join(f"{prefix}*" for prefix in environment.prefixes())
    return f'for name in $(compgen -e); do\n  case $name in\n    {patterns}) unset "$name" ;;\n  esac\ndone\n'


def _server(profile: Profile) -> dict[str, object]:
    return {name: value for name, value in arguments(profile, expand=False).items() if name != "port"}


def _host(profile: Profile) -> str:
    return Endpoint(str(profile.server.get("host", "")), 0).host


def _environment(profile: Profile) -> str:
    for name in (*profile.unset_env, *profile.env):
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise UsageError(f"{profile.name}: no shell can set the variable {clean(name)!r}; rename it")
    lines = [f"unset {name}" for name in profile.unset_env]
    lines += [f"export {name}={_quoted(value)}" for name, value in profile.env.items()]
    if paths := folders(profile):
        lines.append(f"export PYTHONPATH={shlex.quote(':'.join(paths))}${{PYTHONPATH:+:$PYTHONPATH}}")
    return "\n".join(lines) or ": # the profile sets none"


def _options(argv: list[str]) -> str:
    """One option a line, with its values."""
    lines: list[list[str]] = []
    for word in argv:
        if word.startswith("--") or not lines:
            lines.append([])
        lines[-1].append(_quoted(word))
    return "\n".join(f"  {' '.join(line)}" for line in lines)


def _quoted(word: str) -> str:
    """A word for the shell; ``{env:NAME}`` in it is what NAME holds when the script runs."""
    text, *pairs = FROM_ENV.split(word)
    if not pairs:
        return shlex.quote(text)
    parts = [shlex.quote(text) if text else ""]
    for name, rest in zip(pairs[::2], pairs[1::2], strict=True):
        parts += [f'"${name}"', shlex.quote(rest) if rest else ""]
    return "".join(parts)


def _steps(profile: Profile) -> str:
    load = profile.workload
    warm = [("warmup", "warmup", b) for b in load.batch_sizes if load.warmup_output_len]
    steps = [*warm, *((f"bs{b}", "measure", b) for b in load.batch_sizes)]
    return "\n".join(_step(profile, *step) for step in steps)


def _step(profile: Profile, step: str, kind: str, batch_size: int) -> str:
    endpoint = Endpoint("@HOST@", 0)
    argv = bench_arguments(profile.workload, endpoint, batch_size, "@OUT@", warmup=kind == "warmup")
    words = shlex.join(argv).replace("--host @HOST@ --port 0 ", "").replace("--output-file @OUT@ ", "")
    return f"workload {step} {kind} {batch_size} {words}"
