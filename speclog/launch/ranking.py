"""What a sweep found: arms ranked by output throughput, with intervals; the winner as evidence."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from speclog.errors import LaunchError
from speclog.launch import machine, student
from speclog.launch.campaign import Campaign
from speclog.launch.interpreter import Answer
from speclog.launch.manifest import now
from speclog.launch.session import Sidecars


@dataclass(frozen=True)
class Place:
    """One arm at one batch size; ``against_best_tok_s``: 95 % interval of the best minus it, or None."""

    base: str
    arm: str
    batch_size: int
    runs: int
    output_tok_s: float
    interval_tok_s: tuple[float, float] | None
    against_best_tok_s: tuple[float, float] | None
    differs_from_best: bool | None


def rank(results: dict[tuple[str, str, int], list[float]]) -> list[Place]:
    """Rank arms within each profile and batch size.

    ``results`` maps (profile, arm, batch size) to output throughputs (tok/s), one a session. An arm differs
    from the best only when Welch's interval of the difference excludes 0; with one session a side: None.
    """
    places: list[Place] = []
    for base, size in sorted({(base, size) for base, _, size in results}):
        group = {arm: values for (b, arm, s), values in results.items() if (b, s) == (base, size)}
        order = sorted(group, key=lambda arm: fmean(group[arm]), reverse=True)
        places += [_place(base, arm, size, group[arm], group[order[0]]) for arm in order]
    return places


def _place(base: str, arm: str, size: int, values: list[float], best: list[float]) -> Place:
    behind = student.difference(best, values) if values is not best else (0.0, 0.0)
    differs = None if behind is None else behind[0] > 0
    return Place(base, arm, size, len(values), fmean(values), student.interval(values), behind, differs)


def collect(campaign: Campaign) -> dict[tuple[str, str, int], list[float]]:
    """Output throughput of each finished session and batch size, from the results beside its log."""
    found: dict[tuple[str, str, int], list[float]] = {}
    for planned, entry in zip(campaign.runs, campaign.entries, strict=True):
        if entry.state != "done" or entry.log is None:
            continue
        text = Sidecars(campaign.folder / entry.log).results.read_text(encoding="utf-8")
        for result in map(json.loads, text.splitlines()):
            key = (planned.profile.name, entry.arm, int(result["max_concurrency"]))
            found.setdefault(key, []).append(float(result["output_throughput"]))
    return found


def write(campaign: Campaign, answer: Answer) -> Iterator[str]:
    """Write sweep.json and evidence.toml beside the logs; yields the ranking as lines for a person."""
    try:
        places = rank(collect(campaign))
    except (OSError, ValueError, KeyError) as error:
        raise LaunchError(
            f"{campaign.folder}: results of the sweep cannot be read: {error}", step="save"
        ) from error
    if not places:
        return
    here = machine.look({})
    setting = _setting(answer, here)
    told = {
        "at": now(),
        "setting": setting,
        "unit": "output tok/s",
        "places": [asdict(place) for place in places],
    }
    _put(campaign.folder / "sweep.json", json.dumps(told, indent=1))
    _put(campaign.folder / "evidence.toml", _evidence(campaign, places, setting))
    yield f"sweep, output tok/s at the client, 95 % between-run intervals ({campaign.folder / 'sweep.json'}):"
    ahead: tuple[str, int] | None = None
    for place in places:
        yield _line(place, best=(place.base, place.batch_size) != ahead)
        ahead = place.base, place.batch_size


def _put(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LaunchError(f"{path}: cannot write: {error.strerror}", step="log") from error


def _line(place: Place, best: bool) -> str:
    span = place.interval_tok_s
    interval = f"[{span[0]:.1f}, {span[1]:.1f}]" if span else "(one run: no interval)"
    sign = "*" if best else {None: "?", False: "~", True: " "}[place.differs_from_best]
    return (
        f"  {sign} {place.output_tok_s:9.1f} {interval:20} n={place.runs} bs={place.batch_size} {place.arm}"
    )


def _setting(answer: Answer, here: machine.Machine) -> dict[str, str]:
    told = {
        "gpu": next((gpu.name for gpu in here.gpus or []), None),
        "driver": here.driver,
        "nccl": answer.nccl,
        "torch": answer.torch,
        "sglang": answer.sglang,
    }
    return {name: value for name, value in told.items() if value}


def _evidence(campaign: Campaign, places: list[Place], setting: dict[str, str]) -> str:
    """The winner at the first batch size as an overlay that can be put into launch/overlays/."""
    best = places[0]
    profile = next(run.profile for run in campaign.runs if run.profile.arm == best.arm)
    rivals = [p for p in places if (p.base, p.batch_size) == (best.base, best.batch_size)]
    proven = len(rivals) > 1 and all(p.differs_from_best for p in rivals[1:])
    note = (
        f"{best.output_tok_s:.1f} tok/s at bs={best.batch_size}, {best.runs} runs, {len(rivals)} settings; "
        + ("better than every other" if proven else "not shown to be better than every other")
    )
    lines = [f"about = {json.dumps('Measured by a sweep: ' + best.arm)}", "", "[env]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in _tuned(profile.changes, profile.env)]
    lines += ["", "[evidence]", *(f"{name} = {json.dumps(value)}" for name, value in setting.items())]
    return "\n".join([*lines, f"measured = {json.dumps(now()[:10])}", f"note = {json.dumps(note)}", ""])


def _tuned(changes: tuple[str, ...], env: dict[str, str]) -> list[tuple[str, str]]:
    swept = {change.partition("=")[0].removeprefix("env.") for change in changes}
    return [(name, value) for name, value in env.items() if name in swept or name.startswith("NCCL_")]
