"""The findings by file, their places in a column, as ruff groups them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tpulint.finding import Finding
from tpulint.output.context import RenderContext
from tpulint.output.summary import summary
from tpulint.output.text import BOLD, RED, flags, one_line, paint, shown


def grouped(findings: Sequence[Finding], context: RenderContext) -> str:
    groups = groupby(findings, key=lambda finding: finding.span.filename)
    blocks = [block(filename, list(found), context) for filename, found in groups]
    return "".join(blocks) + summary(findings, context)


def block(filename: str, findings: Sequence[Finding], context: RenderContext) -> str:
    """Return the file's name, and below it a line per finding."""
    name = shown(filename)
    lines = [f"{paint(name, BOLD) if context.color else name}:"]
    places = [context.short(finding.span)[len(filename) + 1 :] for finding in findings]
    width = max(map(len, places))
    for place, finding in zip(places, findings, strict=True):
        code = paint(finding.code, RED, BOLD) if context.color else finding.code
        lines.append(f"  {place:<{width}} {code} {flags(finding)}{one_line(finding.message)}")
    return "\n".join(lines) + "\n\n"
