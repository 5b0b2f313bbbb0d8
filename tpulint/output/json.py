"""Ruff's JSON with certainty and trace beside it; `jsonl` has one object per line."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tpulint.codes import CODES
from tpulint.finding import Edit, Finding, Fix, Location, Step
from tpulint.output.context import RenderContext


def render_json(findings: Sequence[Finding], context: RenderContext) -> str:
    rows = [item(finding, context) for finding in findings]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def render_jsonl(findings: Sequence[Finding], context: RenderContext) -> str:
    rows = (json.dumps(item(finding, context), ensure_ascii=False) for finding in findings)
    return "".join(f"{row}\n" for row in rows)


def item(finding: Finding, context: RenderContext) -> dict[str, object]:
    """Return one finding; rows and columns are 1-based, and a notebook's rows those of the cell."""
    code = CODES[finding.code]
    span = finding.span
    cell, start = context.place(span.filename, span.start)
    row: dict[str, object] = {
        "cell": cell,
        "certainty": finding.certainty.value,
        "code": finding.code,
        "end_location": place(context.end(span)),
        "filename": context.absolute(span.filename),
        "fix": fix_item(finding, finding.fix, context) if finding.fix else None,
        "location": place(start),
        "message": finding.message,
        "name": code.name,
        "noqa_row": context.noqa_row(finding),
        "severity": code.severity.value,
        "trace": [step_item(step, context) for step in finding.trace],
        "url": code.url or None,
    }
    if code.plugin:
        row["plugin"] = code.plugin
    return row


def place(location: Location) -> dict[str, int]:
    return {"column": location.column, "row": location.row}


def fix_item(finding: Finding, fix: Fix, context: RenderContext) -> dict[str, object]:
    def edit_item(edit: Edit) -> dict[str, object]:
        _, start = context.place(finding.span.filename, edit.start)
        end = Location(edit.end.row - edit.start.row + start.row, edit.end.column)
        return {"content": edit.content, "end_location": place(end), "location": place(start)}

    return {
        "applicability": fix.applicability.value,
        "edits": [edit_item(edit) for edit in fix.edits],
        "message": fix.message,
    }


def step_item(step: Step, context: RenderContext) -> dict[str, object]:
    cell, start = context.place(step.span.filename, step.span.start)
    return {
        "cell": cell,
        "filename": context.absolute(step.span.filename),
        "lane": step.lane,
        "location": place(start),
        "message": step.message,
    }
