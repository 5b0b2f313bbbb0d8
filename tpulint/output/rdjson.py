"""reviewdog's diagnostic format: its columns count the bytes of UTF-8."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tpulint.codes import CODES, HOME
from tpulint.finding import Finding, Location, Span
from tpulint.output.context import RenderContext


def rdjson(findings: Sequence[Finding], context: RenderContext) -> str:
    whole = {
        "diagnostics": [diagnostic(finding, context) for finding in findings],
        "severity": "WARNING",
        "source": {"name": "tpulint", "url": HOME},
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def diagnostic(finding: Finding, context: RenderContext) -> dict[str, object]:
    """One finding; a notebook's has rows only, and no suggestion, as its text is JSON's."""
    code = CODES[finding.code]
    item: dict[str, object] = {
        "code": {"url": code.url, "value": finding.code},
        "location": location(finding.span, context),
        "message": finding.message,
        "severity": code.severity.value.upper(),
    }
    if finding.trace:
        item["relatedLocations"] = [
            {
                "location": location(step.span, context),
                "message": f"{step.lane}: {step.message}",
            }
            for step in finding.trace
        ]
    if finding.fix is not None and not context.is_notebook(finding.span.filename):
        item["suggestions"] = [
            {
                "range": range_of(Span(finding.span.filename, edit.start, edit.end), context),
                "text": edit.content,
            }
            for edit in finding.fix.edits
        ]
    return item


def location(span: Span, context: RenderContext) -> dict[str, object]:
    return {"path": span.filename, "range": range_of(span, context)}


def range_of(span: Span, context: RenderContext) -> dict[str, object]:
    return {"start": place(span, span.start, context), "end": place(span, span.end, context)}


def place(span: Span, location: Location, context: RenderContext) -> dict[str, int]:
    row = context.file_row(span.filename, location.row)
    if context.is_notebook(span.filename):
        return {"line": row}
    before = context.line(span.filename, location.row)[: location.column - 1]
    return {"line": row, "column": len(before.encode("utf-8", "surrogatepass")) + 1}
