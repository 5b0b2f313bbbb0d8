"""GitLab's code quality report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tpulint.codes import CODES
from tpulint.finding import Finding, Severity
from tpulint.output.context import Context
from tpulint.output.sarif import line_hash


def gitlab(findings: Sequence[Finding], context: Context) -> str:
    seen: Counter[str] = Counter()
    rows = [item(finding, seen, context) for finding in findings]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def item(finding: Finding, seen: Counter[str], context: Context) -> dict[str, Any]:
    _, start = context.place(finding.span.filename, finding.span.start)
    end = context.end(finding.span)
    severe = CODES[finding.code].severity is Severity.ERROR
    return {
        "check_name": finding.code,
        "description": f"{finding.code}: {finding.message}",
        "severity": "major" if severe else "minor",
        "fingerprint": line_hash(finding, seen, context),
        "location": {
            "path": finding.span.filename,
            "positions": {
                "begin": {"line": start.row, "column": start.column},
                "end": {"line": end.row, "column": end.column},
            },
        },
    }
