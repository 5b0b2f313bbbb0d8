"""Each finding with its source, and below it what device and host do, side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tpulint.finding import Finding
from tpulint.output.color import BLUE, BOLD, CYAN, RED, paint
from tpulint.output.context import RenderContext
from tpulint.output.excerpt import excerpt, shown
from tpulint.output.summary import summary
from tpulint.output.trace_columns import lanes
from tpulint.output.words import flags, one_line


def full(findings: Sequence[Finding], context: RenderContext) -> str:
    blocks = [block(finding, context) + "\n" for finding in findings]
    return "".join(blocks) + summary(findings, context)


def block(finding: Finding, context: RenderContext) -> str:
    """One finding: what, where, the lines, the lanes, and how to fix it."""
    styled = paint if context.color else unpainted
    title = f"{flags(finding)}{one_line(finding.message)}"
    first, *more = textwrap.wrap(title, context.width - 7, break_long_words=False)
    lines = [f"{styled(finding.code, RED, BOLD)} {styled(first, BOLD)}"]
    lines += [f"       {styled(line, BOLD)}" for line in more]
    part = excerpt(finding.span, context)
    margin = " " * part.margin
    lines.append(f"{margin}{styled('-->', BLUE)} {shown(context.short(finding.span))}")
    for mark, text, underline in part.rows:
        lines.append(f"{styled(f'{mark:>{part.margin}} |', BLUE)} {text}".rstrip())
        if underline:
            lines.append(f"{styled(f'{margin} |', BLUE)} {styled(underline, RED, BOLD)}")
    if finding.trace:
        lines += ["", *(f"  {line}".rstrip() for line in lanes(finding.trace, context))]
    if finding.fix is not None:
        sure = finding.fix.applicability.value
        lines += ["", f"{styled('help:', CYAN, BOLD)} {finding.fix.message} ({sure} fix)"]
    return "\n".join(lines) + "\n"


def unpainted(text: str, *styles: str) -> str:
    return text
