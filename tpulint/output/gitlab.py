"""GitLab's code quality report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from tpulint.codes import CODES
from tpulint.finding import Finding, Severity, Span
from tpulint.output.context import RenderContext
from tpulint.output.sarif import line_hash


def gitlab(findings: Sequence[Finding], context: RenderContext) -> str:
    seen: Counter[str] = Counter()
    rows = [item(finding, seen, context) for finding in findings]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def item(finding: Finding, seen: Counter[str], context: RenderContext) -> dict[str, object]:
    severe = CODES[finding.code].severity is Severity.ERROR
    return {
        "check_name": finding.code,
        "description": f"{finding.code}: {finding.message}",
        "severity": "major" if severe else "minor",
        "fingerprint": line_hash(finding, seen, context),
        "location": {
            "path": finding.span.filename,
            **place(finding.span, context),
        },
    }


def place(span: Span, context: RenderContext) -> dict[str, object]:
    """Return the place in the file; of a notebook, the rows of its JSON."""
    first, last = (context.file_row(span.filename, each.row) for each in (span.start, span.end))
    if context.is_notebook(span.filename):
        return {"lines": {"begin": first, "end": last}}
    return {
        "positions": {
            "begin": {"line": first, "column": span.start.column},
            "end": {"line": last, "column": span.end.column},
        }
    }
