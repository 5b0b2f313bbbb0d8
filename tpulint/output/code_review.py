"""Reports that code review services read: GitLab's, reviewdog's and JUnit's."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from tpulint.codes import CODES, HOME
from tpulint.finding import Finding, Severity, Span
from tpulint.output.context import RenderContext
from tpulint.output.sarif import line_hash
from tpulint.output.text import shown

# GitLab's code quality report.

GITLAB = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.PERFORMANCE: "info"}


def render_gitlab(findings: Sequence[Finding], context: RenderContext) -> str:
    seen: Counter[str] = Counter()
    rows = [
        {
            "check_name": finding.code,
            "description": f"{finding.code}: {finding.message}",
            "severity": GITLAB[CODES[finding.code].severity],
            "fingerprint": line_hash(finding, seen, context),
            "location": {"path": finding.span.filename, **rows_of(finding.span, context)},
        }
        for finding in findings
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def rows_of(span: Span, context: RenderContext) -> dict[str, object]:
    """Return the place in the file; of a notebook, the rows of its JSON."""
    first, last = (context.file_row(span.filename, end.row) for end in (span.start, span.end))
    if context.is_notebook(span.filename):
        return {"lines": {"begin": first, "end": last}}
    return {
        "positions": {
            "begin": {"line": first, "column": span.start.column},
            "end": {"line": last, "column": span.end.column},
        }
    }


# reviewdog's diagnostic format: its columns count the bytes of UTF-8.

REVIEWDOG = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.PERFORMANCE: "INFO"}


def render_rdjson(findings: Sequence[Finding], context: RenderContext) -> str:
    report = {
        "diagnostics": [diagnostic(finding, context) for finding in findings],
        "severity": "WARNING",
        "source": {"name": "tpulint", "url": HOME},
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def diagnostic(finding: Finding, context: RenderContext) -> dict[str, object]:
    """Return one finding; a notebook's has rows only, and no suggestion, as its text is JSON's."""
    code = CODES[finding.code]
    item: dict[str, object] = {
        "code": ({"url": code.url} if code.url else {}) | {"value": finding.code},
        "location": location(finding.span, context),
        "message": finding.message,
        "severity": REVIEWDOG[code.severity],
    }
    if finding.trace:
        item["relatedLocations"] = [
            {"location": location(step.span, context), "message": f"{step.lane}: {step.message}"}
            for step in finding.trace
        ]
    if finding.fix is not None and not context.is_notebook(finding.span.filename):
        item["suggestions"] = [
            {
                "range": range_of(finding.span._replace(start=edit.start, end=edit.end), context),
                "text": edit.content,
            }
            for edit in finding.fix.edits
        ]
    return item


def location(span: Span, context: RenderContext) -> dict[str, object]:
    return {"path": span.filename, "range": range_of(span, context)}


def range_of(span: Span, context: RenderContext) -> dict[str, dict[str, int]]:
    ends = {}
    for name, end in (("start", span.start), ("end", span.end)):
        ends[name] = {"line": context.file_row(span.filename, end.row)}
        if not context.is_notebook(span.filename):
            before = context.line(span.filename, end.row)[: end.column - 1]
            ends[name]["column"] = len(before.encode("utf-8", "surrogatepass")) + 1
    return ends


# JUnit XML: a test suite a file, a failed test case a finding.


def render_junit(findings: Sequence[Finding], context: RenderContext) -> str:
    total = str(len(findings))
    root = ElementTree.Element(
        "testsuites", name="tpulint", tests=total, failures=total, errors="0"
    )
    for filename, group in groupby(findings, key=lambda finding: finding.span.filename):
        in_file = list(group)
        number = str(len(in_file))
        suite = ElementTree.SubElement(
            root, "testsuite", name=shown(filename), tests=number, failures=number, errors="0"
        )
        for finding in in_file:
            start = finding.span.start
            case = ElementTree.SubElement(
                suite,
                "testcase",
                name=f"{finding.code} {CODES[finding.code].name}",
                classname=shown(filename),
                file=shown(filename),
                line=str(context.file_row(filename, start.row)),
            )
            if not context.is_notebook(filename):
                case.set("column", str(start.column))
            kind, message = finding.certainty.value, shown(finding.message)
            failure = ElementTree.SubElement(case, "failure", type=kind, message=message)
            lines = [f"{context.short(finding.span)}: {finding.code} {finding.message}"]
            for step in finding.trace:
                lines.append(f"  {step.lane}: {context.short(step.span)}: {step.message}")
            failure.text = "\n".join(map(shown, lines))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'
