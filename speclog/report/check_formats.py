"""The result of `speclog check` as Markdown and JUnit XML; names and values are hostile in both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from speclog.report import numbers
from speclog.report.check import KINDS, Checked
from speclog.report.markdown import code, escape
from speclog.report.model import Row

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def regression_text(row: Row) -> str:
    """One row of ``regressions`` in words."""
    if row["why_not"]:
        return f"against {row['against']}: not judged, {row['why_not']}"
    what = "its baseline" if row["against"] == "baseline" else "before"
    span = numbers.percent_between(row["low"], row["high"])
    since = f"; since then changed: {', '.join(row['since'])}" if row["since"] else ""
    more = ", ".join(row["candidate_names"][1:])
    who = f"with its repeats ({more}) " if more else ""
    where = f"batch {row['batch_size']}, context {numbers.fixed(row['context'], 0)}"
    return (
        f"{who}{_standing(row)} {what} ({', '.join(row['run_names'])}) at {where}: "
        f"{numbers.percent(row['ratio'])} ({span}, {row['kind']}){since}"
    )


def _standing(row: Row) -> str:
    """What the whole interval of a ratio says."""
    if row["low"] <= 1 <= row["high"]:
        return "level with"
    if row["low"] > 1:
        return "faster than"
    return "slower than" if row["regressed"] else "slower, within the threshold, than"


def notes(one: Checked) -> Iterator[str]:
    """What belongs beside a verdict: why, what was let pass, caveats, the naive baseline, regressions."""
    yield from one.reasons
    if one.cross_engine:
        yield f"cross-engine, asked for: {one.choice}"
    yield from (f"allowed: {text}" for text in one.allowed)
    yield from (text if "caveat" in text else f"caveat: {text}" for text in one.caveats)
    if one.vouched:
        yield "some of it is vouched for, not recorded"
    if one.naive_baseline_name:
        yield f"the fastest baseline is another one: {one.naive_baseline_name}"
    yield from (regression_text(row) for row in one.regressions or [])


def summary(found: Sequence[Checked]) -> str:
    """``2 of 9 comparisons failed: a, b``."""
    failed = [f"{one.candidate_name} ({', '.join(one.failed)})" for one in found if one.failed]
    if not failed:
        let_by = sum(one.effective_verdict != "fair" for one in found)
        more = f"; {let_by} of them {'is' if let_by == 1 else 'are'} not fair" if let_by else ""
        return f"{len(found)} of {len(found)} comparisons passed{more}"
    more = ", ..." if len(failed) > 5 else ""
    return f"{len(failed)} of {len(found)} comparisons failed: {', '.join(failed[:5])}{more}"


def contracts(found: Sequence[Checked]) -> list[tuple[str | None, str, str]]:
    """(hash, factor, value) of what was held equal, each contract once; empty unless it was asked for."""
    listed = {one.contract_hash: one.contract for one in found if one.contract is not None}
    return [(key, row["name"], row["value"]) for key, held in listed.items() for row in held or []]


def markdown(found: Sequence[Checked]) -> str:
    """GitHub-flavoured Markdown: a sentence and a table, for a pull request or a step summary."""
    head = ["", "candidate", "baseline", "verdict", "counts as", "why, and what was let pass"]
    lines = [head, ["---"] * len(head)]
    for one in found:
        said = (
            "<br>".join(escape(text) for text in notes(one)) or "everything that matters is known and equal"
        )
        # Not failing is not passing: an unproven pair that --fail-on lets by is no green tick.
        sign = "❌" if one.failed else "✅" if one.effective_verdict == "fair" else "⚠️"
        names = [escape(one.candidate_name), escape(one.baseline_name)]
        lines.append([sign, *names, one.verdict, f"**{one.effective_verdict}**", said])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    hashes = ", ".join(
        f"{escape(one.candidate_name)} {code(one.contract_hash or 'none')}" for one in found[:20]
    )
    return f"**speclog check:** {escape(summary(found))}\n\n{table}\n\n<sub>Contracts: {hashes}</sub>\n"


def junit(found: Sequence[Checked], fail_on: Sequence[str]) -> str:
    """JUnit XML: a test case for each comparison and kind of failure.

    What is not in ``fail_on`` never fails: where it applies it is a skipped case, with the reasons.
    """
    cases = [case for one in found for case in _cases(one, set(fail_on))]
    failures = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    suite = ElementTree.Element(
        "testsuite", name="speclog check", tests=str(len(cases)), failures=str(failures),
        errors="0", skipped=str(skipped),
    )  # fmt: skip
    suite.extend(cases)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _cases(one: Checked, fail_on: set[str]) -> Iterator[ElementTree.Element]:
    for kind in KINDS:
        if kind == "regression" and one.regressions is None:
            continue
        case = ElementTree.Element(
            "testcase", classname=_xml(one.candidate_name), name=_xml(f"{kind}: against {one.baseline_name}")
        )
        message = _xml(_message(one, kind))
        unjudged = _xml(_unjudged(one)) if kind == "regression" and not message else ""
        if message or unjudged:
            tag = "failure" if message and kind in fail_on else "skipped"
            message = message or unjudged
            told = ElementTree.SubElement(case, tag, message=message.splitlines()[0])
            told.text = message
            if tag == "failure":
                told.set("type", kind)
        output = _xml("\n".join([f"verdict: {one.verdict}; counts as: {one.effective_verdict}", *notes(one)]))
        ElementTree.SubElement(case, "system-out").text = output
        yield case


def _unjudged(one: Checked) -> str:
    """Why no regression could be looked for; empty where at least one comparison was judged."""
    rows = one.regressions or []
    return "" if any(not row["why_not"] for row in rows) else "\n".join(map(regression_text, rows))


def _message(one: Checked, kind: str) -> str:
    """Why a case fails; empty when it passes."""
    if kind == "regression":
        return "\n".join(regression_text(row) for row in one.regressions or [] if row["regressed"])
    return "\n".join(one.reasons) or kind if one.effective_verdict == kind else ""


def _xml(text: str) -> str:
    """Text without the characters that XML 1.0 cannot hold: they become visible escapes."""
    return _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
