"""Findings as rows of JSON, for the caches."""

from __future__ import annotations

from typing import Any

from tpulint.finding import (
    Applicability,
    Certainty,
    Change,
    Edit,
    Finding,
    Fix,
    Location,
    Span,
    Step,
)


def row_of(found: Finding) -> dict[str, object]:
    fix = found.fix
    return {
        "code": found.code,
        "message": found.message,
        "span": _span_row(found.span),
        "certainty": found.certainty.value,
        "trace": [_step_row(step) for step in found.trace],
        "fix": None
        if fix is None
        else [
            fix.applicability.value,
            fix.message,
            [
                [each.start.row, each.start.column, each.end.row, each.end.column, each.content]
                for each in fix.edits
            ],
            [[each.function, *each.start, *each.end, *each.arguments] for each in fix.changes],
        ],
    }


def _step_row(step: Step) -> list[object]:
    return [step.lane, _span_row(step.span), step.message, step.holds, step.waits_for]


def _span_row(span: Span) -> list[object]:
    return [span.filename, span.start.row, span.start.column, span.end.row, span.end.column]


def finding_of(row: dict[str, Any]) -> Finding:
    fix = None
    if row["fix"] is not None:
        applicability, message, edits, changes = row["fix"]
        fix = Fix(
            Applicability(applicability),
            message,
            tuple(Edit(Location(*each[:2]), Location(*each[2:4]), each[4]) for each in edits),
            tuple(
                Change(each[0], Location(*each[1:3]), Location(*each[3:5]), tuple(each[5:]))
                for each in changes
            ),
        )
    trace = tuple(Step(lane, _span(span), *words) for lane, span, *words in row["trace"])
    certainty = Certainty(row["certainty"])
    return Finding(row["code"], row["message"], _span(row["span"]), certainty, trace, fix)


def _span(row: list[Any]) -> Span:
    return Span(row[0], Location(row[1], row[2]), Location(row[3], row[4]))
