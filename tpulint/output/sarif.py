"""SARIF 2.1.0: relative URIs, fingerprints that survive moved lines, one thread flow a lane."""

from __future__ import annotations

import hashlib
import json
import os
import urllib.parse
from collections import Counter
from collections.abc import Sequence

from tpulint import __version__
from tpulint.codes import CODES, HOME, Code
from tpulint.finding import Applicability, Finding, Fix, Location, Severity, Span, Step
from tpulint.output.context import Coverage, RenderContext

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
# The format knows no level of its own for what wastes time.
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.PERFORMANCE: "note"}


def render_sarif(findings: Sequence[Finding], context: RenderContext) -> str:
    codes = sorted({finding.code for finding in findings})
    seen: Counter[str] = Counter()
    driver = {
        "name": "tpulint",
        "version": __version__,
        "informationUri": HOME,
        "rules": [rule(CODES[code]) for code in codes],
    }
    run: dict[str, object] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": file_uri(context.here).rstrip("/") + "/"}},
        "results": [result(finding, codes, seen, context) for finding in findings],
    }
    if context.unfollowed or context.unchecked:
        # The exit status of a run in which something was not checked is 2.
        success, notes = not context.unchecked, notifications(context)
        run["invocations"] = [{"executionSuccessful": success, "toolExecutionNotifications": notes}]
    if context.coverage is not None:
        run["properties"] = {"coverage": coverage_item(context.coverage, context)}
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def notifications(context: RenderContext) -> list[dict[str, object]]:
    """Return a notification for what was asked for and not checked, and for each call left out."""
    notes = []
    for part in context.unchecked:
        note: dict[str, object] = {"level": "error", "message": {"text": part.reason}}
        if part.path:
            place = {"artifactLocation": artifact(part.path, context)}
            note["locations"] = [{"physicalLocation": place}]
        notes.append(note)
    for call in context.unfollowed:
        start = Location(call.row, call.column)
        places = [location(Span(call.filename, start, start), context)]
        message = {"text": call.message}
        notes.append({"level": "note", "message": message, "locations": places})
    return notes


def coverage_item(coverage: Coverage, context: RenderContext) -> dict[str, object]:
    """Return what was analyzed, and how many calls were not, by the kind of reason."""
    kinds = Counter(call.kind for call in context.unfollowed)
    return {
        "programs": coverage.programs,
        "filesRead": coverage.read,
        "files": coverage.files,
        "functionsNotReached": coverage.unreached,
        "callsNotAnalyzed": dict(sorted(kinds.items())),
    }


def rule(code: Code) -> dict[str, object]:
    from tpulint.rules import page

    text = page(code.code)
    return {
        "id": code.code,
        "name": code.name,
        "shortDescription": {"text": code.summary},
        **({"helpUri": code.url} if code.url else {}),
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": LEVELS[code.severity]},
        **({"properties": {"plugin": code.plugin}} if code.plugin else {}),
    }


def result(
    finding: Finding, codes: Sequence[str], seen: Counter[str], context: RenderContext
) -> dict[str, object]:
    item: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": LEVELS[CODES[finding.code].severity],
        "message": {"text": finding.message},
        "locations": [location(finding.span, context)],
        "partialFingerprints": {"primaryLocationLineHash": line_hash(finding, seen, context)},
        "properties": {"certainty": finding.certainty.value},
    }
    if finding.trace:
        item["codeFlows"] = [{"threadFlows": thread_flows(finding.trace, context)}]
    if finding.fix is not None and not context.is_notebook(finding.span.filename):
        item["fixes"] = [fix_item(finding, finding.fix, context)]
    return item


def thread_flows(trace: Sequence[Step], context: RenderContext) -> list[dict[str, object]]:
    """Return one flow per lane; `executionOrder` keeps the order between the lanes."""
    lanes: dict[str, list[dict[str, object]]] = {}
    for order, step in enumerate(trace, 1):
        place = {**location(step.span, context), "message": {"text": step.message}}
        lanes.setdefault(step.lane, []).append({"location": place, "executionOrder": order})
    flows = lanes.items()
    return [{"id": lane, "message": {"text": lane}, "locations": places} for lane, places in flows]


def location(span: Span, context: RenderContext) -> dict[str, object]:
    """Return the place in the file; of a notebook, the rows of its JSON and the cell's name."""
    cell, _ = context.place(span.filename, span.start)
    place = {
        "artifactLocation": artifact(span.filename, context),
        "region": region(span.start, span.end),
    }
    if cell is None:
        return {"physicalLocation": place}
    first, last = (context.file_row(span.filename, end.row) for end in (span.start, span.end))
    place["region"] = {"startLine": first, "endLine": last}
    names = [{"name": f"cell {cell}", "kind": "module"}]
    return {"physicalLocation": place, "logicalLocations": names}


def region(start: Location, end: Location) -> dict[str, int]:
    return {
        "startLine": start.row,
        "startColumn": start.column,
        "endLine": end.row,
        "endColumn": end.column,
    }


def artifact(filename: str, context: RenderContext) -> dict[str, str]:
    """Return a URI relative to the working directory, or an absolute one for a file outside it."""
    path = os.path.relpath(context.absolute(filename), context.here) if filename != "-" else "-"
    if path.startswith(os.pardir):
        return {"uri": file_uri(context.absolute(filename))}
    return {"uri": quoted(path), "uriBaseId": "SRCROOT"}


def file_uri(path: str) -> str:
    return "file://" + quoted(path)


def quoted(path: str) -> str:
    """Return the path as a part of a URI, whatever bytes its names hold."""
    return urllib.parse.quote(os.fsencode(path.replace(os.sep, "/")))


def line_hash(finding: Finding, seen: Counter[str], context: RenderContext) -> str:
    """Return a hash of file, code and the line's words, and `:n` for the n-th of its kind."""
    line = context.line(finding.span.filename, finding.span.start.row)
    words = "\0".join((finding.span.filename, finding.code, " ".join(line.split())))
    digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    seen[digest] += 1
    return f"{digest}:{seen[digest]}"


def fix_item(finding: Finding, fix: Fix, context: RenderContext) -> dict[str, object]:
    replacements = [
        {"deletedRegion": region(edit.start, edit.end), "insertedContent": {"text": edit.content}}
        for edit in fix.edits
    ]
    unsafe = " (unsafe: may change what the program does)"
    note = unsafe if fix.applicability is Applicability.UNSAFE else ""
    place = artifact(finding.span.filename, context)
    return {
        "description": {"text": fix.message + note},
        "artifactChanges": [{"artifactLocation": place, "replacements": replacements}],
    }
