"""Print every claim beside what was found; write docs/validation.md with --write. Exit 1 if a claim fails."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from bench.validate import ROOT, SECTIONS, Section, measured

HEAD = """# Validation

What speclog claims, recomputed by `make validate` from logs whose truth is known. The accept lengths of the
H200 logs were simulated (`SGLANG_SIMULATE_ACC_LEN`), so they are known exactly; round times were not
simulated. Logs: {logs}. Seeds are fixed; the page is rewritten by `make validate`, each section by a module
of `bench/validate/`.
"""
MARK = {True: "holds", False: "**FAILS**", None: "shown only"}


def rendered(section: Section) -> str:
    lines = [f"## {section.title}", "", *([section.text.strip(), ""] if section.text else [])]
    if section.claims:
        lines += ["| claim | expected | found | |", "|---|---|---|---|"]
        lines += [f"| {c.what} | {c.expected} | {c.found} | {MARK[c.holds]} |" for c in section.claims]
        lines.append("")
    if section.table:
        lines += [section.table.strip(), ""]
    return "\n".join(lines)


def updated(before: str, head: str, sections: list[Section]) -> str:
    """The page with these sections in place of those of the same title; new ones come last."""
    first, *rest = before.split("\n## ") if before else [head.rstrip()]
    kept = {text.partition("\n")[0]: text.strip() for text in rest}
    kept |= {section.title: rendered(section).removeprefix("## ").strip() for section in sections}
    return "\n\n".join([first.strip(), *(f"## {text}" for text in kept.values())]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help=f"sections to run: {', '.join(SECTIONS)}")
    parser.add_argument(
        "--write", action="store_true", help="write docs/validation.md (these sections of it)"
    )
    options = parser.parse_args()
    names = options.only or SECTIONS
    with measured() as data:
        head = HEAD.format(logs=f"`{data.logs.relative_to(ROOT.parent)}`")
        sections = []
        for name in names:
            sections.append(import_module(f"bench.validate.{name}").section(data))
            print(rendered(sections[-1]), flush=True)
    if options.write:
        page = ROOT / "docs" / "validation.md"
        before = page.read_text(encoding="utf-8") if options.only else ""
        page.write_text(updated(before, head, sections), encoding="utf-8")
    failed = [claim for section in sections for claim in section.claims if claim.holds is False]
    print(f"{len(failed)} claim(s) failed" if failed else "every checked claim holds", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
