"""Workflow commands that GitHub shows as annotations."""

from __future__ import annotations

from collections.abc import Sequence

from tpulint.codes import CODES
from tpulint.finding import Finding
from tpulint.output.context import RenderContext
from tpulint.output.text import one_line


def github(findings: Sequence[Finding], context: RenderContext) -> str:
    return "".join(command(finding, context) for finding in findings)


def command(finding: Finding, context: RenderContext) -> str:
    """One annotation; a notebook's has the rows of its JSON, and no columns."""
    span = finding.span
    fields: dict[str, object] = {
        "title": f"tpulint ({finding.code})",
        "file": span.filename,
        "line": context.file_row(span.filename, span.start.row),
        "col": span.start.column,
        "endLine": context.file_row(span.filename, span.end.row),
        "endColumn": span.end.column,
    }
    if context.is_notebook(span.filename):
        del fields["col"], fields["endColumn"]
    listed = ",".join(f"{key}={in_field(str(value))}" for key, value in fields.items())
    lines = [f"{context.short(span)}: {finding.code} {one_line(finding.message)}"]
    for step in finding.trace:
        lines.append(f"  {step.lane}: {context.short(step.span)}: {one_line(step.message)}")
    return f"::{CODES[finding.code].severity.value} {listed}::{in_message(chr(10).join(lines))}\n"


def in_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def in_field(text: str) -> str:
    return in_message(text).replace(":", "%3A").replace(",", "%2C")
