"""pylint's parseable lines, `path:row: [CODE] message`, which many editors and CI tools read."""

from __future__ import annotations

from collections.abc import Sequence

from tpulint.finding import Finding
from tpulint.output.context import RenderContext
from tpulint.output.text import one_line, shown


def pylint(findings: Sequence[Finding], context: RenderContext) -> str:
    return "".join(line(finding, context) for finding in findings)


def line(finding: Finding, context: RenderContext) -> str:
    row = context.file_row(finding.span.filename, finding.span.start.row)
    path = shown(finding.span.filename)
    return f"{path}:{row}: [{finding.code}] {one_line(finding.message)}\n"
