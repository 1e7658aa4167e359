"""The report as Markdown that pastes cleanly into a pull request, an issue or a CI step summary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from speclog.report import naming, numbers, terms, words
from speclog.report.model import Answer, Factor, Level, Pair, Report, Row, Section

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$@])")


_TIE = "\\~ "


def escape(text: object) -> str:
    """Text from outside as Markdown text: no markup, no HTML, no mention, one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split())).replace("://", ":&#47;&#47;")


def code(value: object) -> str:
    """A value as a code span that its own backticks cannot end, safe inside a table cell."""
    text = " ".join(str(value).split()) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")


def text(report: Report) -> str:
    """The whole report."""
    parts = [f"# {escape(report.title)}", escape(report.summary), *map(escape, report.notes)]
    for section in report.sections:
        parts += _section(section)
    if report.brief:
        parts += ["## Other speculative runs", _brief(report.brief)]
    when = f"{report.made_at:%Y-%m-%d %H:%M:%S} UTC"
    made = f"speclog {report.version}, {when}, store {code(report.store)}, {code(report.command)}"
    parts.append(
        f"<sub>{made}. τ: accept length, bonus included; τ\\*: break-even accept length. "
        "Medians over clean windows.</sub>"
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section) -> list[str]:
    sign, word, _ = words.VERDICT_WORDS.get(section.verdict, ("", section.verdict, ""))
    parts = [
        f"## {sign} {word}{_across(section.chosen)}: {escape(section.run.name)}",
        escape(section.headline),
        escape(section.change),
    ]
    if section.repeats:
        parts.append(f"Repeats pooled: {escape(naming.join([run.name for run in section.repeats]))}.")
    if section.stale:
        parts.append(f"Tuning that was measured elsewhere: {escape('; '.join(section.stale))}.")
    if section.advice:
        parts.append("\n".join(map(_advice, section.advice)))
    for pair in section.shown:
        verdict = f"{words.verdict_word(pair.verdict).lower()}{_across(pair)}"
        parts.append(f"### Against {escape(pair.baseline.name)} ({verdict})")
        parts.append(_levels(pair))
        parts += _doubts(pair)
        if pair == (section.fair or section.maybe or section.chosen):
            parts += [f"{escape(words.between(row))}." for row in section.between]
        found = [
            factor
            for factor in pair.factors
            if factor.state in ("confounder", "unknown", "unclassified", "doubt")
        ]
        if found:
            parts.append(_factors(found))
    if section.answers:
        parts.append(_table(["what the difference is made of", ""], map(_answer, section.answers)))
    if section.cells:
        parts += _cells(section)
    for missing in section.missing:
        parts.append(f"**{escape(missing.title)}** {escape(missing.why)}")
        parts.append(_block(missing.command))
        if missing.target:
            parts.append(f"What it would have to reach: {escape(missing.target)}")
    return parts


def _across(pair: Pair | None) -> str:
    return ", across engines" if pair is not None and pair.across else ""


def _advice(answer: Answer) -> str:
    question = escape(answer.question)
    if answer.why_not:
        return f"- **{question}** *Not known*: {escape(answer.why_not)}."
    flag = "**Look here.** " if answer.flag else ""
    return f"- **{question}** {flag}{escape(answer.text)}"


def _doubts(pair: Pair) -> list[str]:
    """What keeps the numbers of a pair from being a headline, and what was pooled."""
    found = [
        f"Batch {level.batch_size}, before you believe it: {escape('; '.join(level.caveats))}."
        for level in pair.levels
        if level.caveats
    ]
    if terms.caveats(pair):
        found.append(f"Both runs, before you believe it: {escape('; '.join(terms.caveats(pair)))}.")
    starts = [*pair.candidate_repeats, *pair.baseline_repeats]
    if starts:
        found.append(
            f"Pooled with other starts of the same server: {escape(naming.join(run.name for run in starts))}."
        )
    return found


def _cells(section: Section) -> list[str]:
    """The 2x2 of treatment and confounder: tok/s with its interval and the run, the missing one named."""
    found = section.attribution
    settings = list(dict.fromkeys(cell["setting"] for cell in section.cells))
    arms = list(dict.fromkeys(cell["arm"] for cell in section.cells))
    by_place = {(cell["setting"], cell["arm"]): _cell(cell) for cell in section.cells}
    table = _table(
        ["tok/s", *map(escape, arms)],
        [[escape(setting), *(by_place[setting, arm] for arm in arms)] for setting in settings],
    )
    if found is None or isinstance(found.readings, str):
        why = found.readings if found else "not measured"
        return [table, f"Cells are medians over clean windows and have no interval: {escape(why)}."]
    context = numbers.fixed(next(iter(found.readings.values())).context, 0)
    return [table, f"All cells at batch {found.batch_size} and {context} tokens of context."]


def _cell(cell: Row) -> str:
    if cell.get("tok_s") is None:
        return f"**{escape(cell['run'])}**"
    kind = f" {cell['interval_kind']}" if cell.get("interval_kind") else ""
    low, high = cell.get("tok_s_lo"), cell.get("tok_s_hi")
    said = f"{numbers.tok_s(cell['tok_s'], low=low, high=high)} ({numbers.tok_s_between(low, high)}{kind})"
    return f"{said}, {escape(cell['run'])}"


def _answer(answer: Answer) -> list[str]:
    if answer.why_not:
        return [escape(answer.question), f"*not known*: {escape(answer.why_not)}"]
    text = escape(answer.text)
    return [escape(answer.question), f"*Estimate:* {text}" if answer.estimate else text]


def _block(command: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", command)), default=0))
    return f"{fence}sh\n{command}\n{fence}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _levels(pair: Pair) -> str:
    head = [
        "batch",
        "context",
        "τ",
        "τ\\*",
        "margin, tokens",
        "margin, ms",
        "speedup",
        "interval",
        "naive",
        "windows",
        "lines",
    ]
    return _table(head, [_level(pair, level) for level in pair.levels])


def _level(pair: Pair, level: Level) -> list[str]:
    lines = f"{code(level.candidate_lines or 'none')} {code(level.baseline_lines or 'none')}"
    counted = f"{level.n_candidate} / {level.n_baseline}"
    if level.refused:
        return [
            str(level.batch_size),
            *["–"] * 5,
            f"no number: {escape(level.refused)}",
            "–",
            numbers.percent(level.naive_speedup) if level.naive_speedup is not None else "–",
            counted,
            lines,
        ]
    return [
        str(level.batch_size),
        numbers.fixed(level.context, 0),
        numbers.with_span(level.tau, level.tau_lo, level.tau_hi),
        numbers.with_span(level.tau_star, level.tau_star_lo, level.tau_star_hi),
        numbers.signed_with_span(level.margin_tokens, level.margin_tokens_lo, level.margin_tokens_hi),
        numbers.signed_with_span(level.margin_ms, level.margin_ms_lo, level.margin_ms_hi),
        (_TIE if level.tie else "")
        + numbers.percent(level.speedup, low=level.speedup_lo, high=level.speedup_hi)
        + _condition(pair),
        f"{numbers.percent_between(level.speedup_lo, level.speedup_hi)} {level.interval_kind or ''}".strip(),
        numbers.percent(level.naive_speedup),
        counted,
        lines,
    ]


def _factors(factors: Sequence[Factor], limit: int = 25) -> str:
    head = ["factor", "class", "candidate", "baseline", "favours", "worth", "mend"]
    told = words.together(factors)
    table = _table(head, [_factor(factor, told) for factor in factors[:limit]])
    rest = len(factors) - limit
    lead = f"Worth {escape(told)}.\n\n" if told else ""
    return f"{lead}{table}\n\n…and {rest} more" if rest > 0 else f"{lead}{table}"


def _factor(factor: Factor, told: str) -> list[str]:
    return [
        code(factor.name),
        factor.klass,
        "**unknown**" if factor.candidate_value is None else code(factor.candidate_value),
        "**unknown**" if factor.baseline_value is None else code(factor.baseline_value),
        factor.favours or "not known",
        "not measured alone" if told else escape(factor.worth or "not measured"),
        code(factor.mend) if factor.mend else "",
    ]


def _brief(sections: Sequence[Section]) -> str:
    rows = []
    for section in sections:
        level = section.chosen.main_level if section.chosen else None
        against = escape(section.chosen.baseline.name) if section.chosen else "–"
        verdict = f"{words.verdict_word(section.verdict)}{_across(section.chosen)}"
        speed = ["–", "–"]
        if section.chosen and level and section.verdict != "unfair":
            said, span = _speed(level)
            speed = [f"{said}{_condition(section.chosen)}", span]
        rows.append([escape(section.run.name), verdict, against, *speed])
    return _table(["run", "verdict", "baseline", "speedup", "interval"], rows)


def _condition(pair: Pair) -> str:
    """What must hold for the number before it to be a result."""
    found = terms.condition(pair)
    return f" *{found}*" if found else ""


def _speed(level: Level) -> list[str]:
    ends = level.speedup_lo, level.speedup_hi
    said = numbers.percent(level.speedup, low=ends[0], high=ends[1])
    span = f"{numbers.percent_between(*ends)} {level.interval_kind or ''}".strip()
    return [f"{_TIE if level.tie else ''}{said}, batch {level.batch_size}", span]
