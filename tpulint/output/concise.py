"""One line a finding, `path:row:column: CODE message`, and a summary."""

from __future__ import annotations

from collections.abc import Sequence

from tpulint.finding import Finding
from tpulint.output.context import RenderContext
from tpulint.output.summary import summary
from tpulint.output.text import BOLD, CYAN, RED, flags, one_line, paint


def concise(findings: Sequence[Finding], context: RenderContext) -> str:
    lines = []
    for finding in findings:
        place = one_line(context.short(finding.span))
        if context.color:
            path, _, rest = place.partition(":")
            place = f"{paint(path, BOLD)}{paint(':', CYAN)}{rest}"
        code = paint(finding.code, RED, BOLD) if context.color else finding.code
        lines.append(f"{place}: {code} {flags(finding)}{one_line(finding.message)}\n")
    return "".join(lines) + summary(findings, context)
