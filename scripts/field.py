"""docs/field.md: what users ran into, and the rule that catches each of it."""

from __future__ import annotations

from tests.rules.reports import Report, reports
from tpulint.codes import CODES
from tpulint.testing import Block

HEAD = """\
# Public bug reports

This page lists {all} public bug reports about TensorFlow TPU programs. For {caught} of them, a rule
catches a small program that shows the pattern: {definite} by default, the others with
`--certainty possible` or `--certainty unlikely`, because they depend on something that the source
does not show. Each program and its corrected twin are in `tests/rules/field/`, and both are tested:
the twin gives no finding.
"""
TABLE = "| | reports | said | pattern | rule |\n|---|---|---|---|---|\n"


def field() -> str:
    """Return the whole page."""
    every, caught, definite = counts()
    text = HEAD.format(all=every, caught=caught, definite=definite)
    for group in dict.fromkeys(report.group for report in reports()):
        text += f"\n## {group}\n\n{TABLE}"
        text += "".join(row(report) for report in reports() if report.group == group)
    return text


def counts() -> tuple[int, int, int]:
    """Return the number of reports, of those that a rule finds, and of those it finds surely."""
    every = reports()
    programs = [report.faulty for report in every if report.faulty is not None]
    return len(every), len(programs), sum(is_definite(program) for program in programs)


def is_definite(program: Block) -> bool:
    """Return whether a finding is expected without `--certainty`."""
    return any(mark.certainty == "definite" for mark in program.expected)


def row(report: Report) -> str:
    """Return the line of one report."""
    threads = ", ".join(thread(reference) for reference in report.references)
    cells = [str(report.number), threads, report.said, report.pattern, verdict(report)]
    return f"| {' | '.join(cells)} |\n"


def thread(reference: str) -> str:
    """Return a link to the thread `owner/repository#1`; anything else is left as it is."""
    repository, _, number = reference.partition("#")
    if not number.isdigit():
        return reference
    return f"[{reference}](https://github.com/{repository}/issues/{number})"


def verdict(report: Report) -> str:
    """Return the rules that find the program, or why none does."""
    if report.faulty is None:
        return f"none: {report.silent}"
    marks = sorted({(mark.code, mark.certainty) for mark in report.faulty.expected})
    return ", ".join(
        link(code) + ("" if certainty == "definite" else f" ({certainty})")
        for code, certainty in marks
    )


def link(code: str) -> str:
    """Return the code, leading to its page."""
    return f"[{code}](../tpulint/rules/{CODES[code].path}.md)"
