"""Ruff's JSON with certainty and trace beside it, and reports of shards that become one again.

`jsonl` has one object per line. What is merged may be SARIF, too.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any

from tpulint.codes import CODES
from tpulint.finding import Finding, Fix, Location
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
        "trace": [
            {
                "cell": context.place(step.span.filename, step.span.start)[0],
                "filename": context.absolute(step.span.filename),
                "lane": step.lane,
                "location": place(context.place(step.span.filename, step.span.start)[1]),
                "message": step.message,
            }
            for step in finding.trace
        ],
        "url": code.url or None,
    }
    return row | ({"plugin": code.plugin} if code.plugin else {})


def place(location: Location) -> dict[str, int]:
    return {"column": location.column, "row": location.row}


def fix_item(finding: Finding, fix: Fix, context: RenderContext) -> dict[str, object]:
    spans = [finding.span._replace(start=edit.start, end=edit.end) for edit in fix.edits]
    return {
        "applicability": fix.applicability.value,
        "edits": [
            {
                "content": edit.content,
                "end_location": place(context.end(span)),
                "location": place(context.place(span.filename, span.start)[1]),
            }
            for edit, span in zip(fix.edits, spans, strict=True)
        ],
        "message": fix.message,
    }


# One report made of those of several shards: what one run over all files would have written.

MergedRow = dict[str, Any]


class Unmergeable(ValueError):
    """A report that is none of tpulint's in JSON, JSON lines or SARIF, or of another format."""


def merged(texts: Sequence[str]) -> tuple[str, int]:
    """Return the report and the number of its findings. Raises Unmergeable."""
    formats = {format_of(text) for text in texts}
    if len(formats) != 1:
        raise Unmergeable("the reports are of different formats")
    style = formats.pop()
    if style == "sarif":
        return merged_sarif(texts)
    if style == "json":
        rows = united([row for text in texts for row in json.loads(text)], place_of_row)
        return json.dumps(rows, indent=2, ensure_ascii=False) + "\n", len(rows)
    try:
        findings = [json.loads(line) for text in texts for line in text.splitlines()]
        rows = united(findings, place_of_row)
    except (ValueError, KeyError, TypeError):
        raise Unmergeable("a report is neither JSON, nor JSON lines, nor SARIF") from None
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), len(rows)


def format_of(text: str) -> str:
    """Return the format of a report; what is nothing else is taken for JSON lines."""
    try:
        document = json.loads(text)
    except ValueError:
        return "jsonl"
    if isinstance(document, list):
        return "json"
    return "sarif" if "runs" in document else "jsonl"


def merged_sarif(texts: Sequence[str]) -> tuple[str, int]:
    runs = [json.loads(text)["runs"][0] for text in texts]
    rules = {rule["id"]: rule for run in runs for rule in run["tool"]["driver"]["rules"]}
    codes = sorted(rules)
    results = [row for run in runs for row in run["results"]]
    for row in results:
        row["ruleIndex"] = codes.index(row["ruleId"])
    log = json.loads(texts[0])
    (run,) = log["runs"]
    run["tool"]["driver"]["rules"] = [rules[code] for code in codes]
    run["results"] = united(results, place_in_sarif)
    notifications = [
        row
        for run in runs
        for invocation in run.get("invocations", [])
        for row in invocation["toolExecutionNotifications"]
    ]
    if notifications:
        failures = [note for note in notifications if note["level"] == "error"]
        calls = [note for note in notifications if note["level"] != "error"]
        shown = united(failures, text_of_note) + united(calls, place_of_note)
        run["invocations"] = [
            {"executionSuccessful": not failures, "toolExecutionNotifications": shown}
        ]
    properties = [run.get("properties", {}) for run in runs]
    run.pop("properties", None)  # it comes last, as a run writes it
    parts = [part["coverage"] for part in properties if "coverage" in part]
    if parts:
        run["properties"] = {"coverage": summed(parts)}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n", len(run["results"])


def summed(parts: Sequence[MergedRow]) -> MergedRow:
    """Return the sums of numbers, by their keys; shards share no file and no program."""
    sums: MergedRow = {}
    for key in dict.fromkeys(key for part in parts for key in part):
        values = [part[key] for part in parts if key in part]
        sums[key] = summed(values) if isinstance(values[0], dict) else sum(values)
    return sums


def united(
    rows: Sequence[MergedRow], key: Callable[[MergedRow], tuple[object, ...]]
) -> list[MergedRow]:
    """Return the rows in order, each once: one in a requirement file is found by several shards."""
    different = {json.dumps(row, sort_keys=True): row for row in rows}
    return sorted(different.values(), key=key)


def place_of_row(row: MergedRow) -> tuple[object, ...]:
    """Return the place of a finding, by which a run sorts."""
    rows = [(row[end]["row"], row[end]["column"]) for end in ("location", "end_location")]
    return row["filename"], row["cell"] or 0, *rows, row["code"]


def place_in_sarif(row: MergedRow) -> tuple[object, ...]:
    """Return the place of a result. That in a notebook has no columns, and keeps its order."""
    physical = row["locations"][0]["physicalLocation"]
    region = physical["region"]
    ends = [region.get(key, 0) for key in ("startLine", "startColumn", "endLine", "endColumn")]
    in_columns = [row["ruleId"]] if "startColumn" in region else []
    return urllib.parse.unquote(physical["artifactLocation"]["uri"]), *ends, *in_columns


def place_of_note(row: MergedRow) -> tuple[object, ...]:
    """Return the place of a notification, by which a run sorts."""
    return *place_in_sarif({"ruleId": "", **row}), row["message"]["text"]


def text_of_note(row: MergedRow) -> tuple[object, ...]:
    return (row["message"]["text"],)
