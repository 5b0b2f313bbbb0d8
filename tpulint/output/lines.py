"""Formats of one line per finding: concise, grouped by file, pylint's, GitHub's and Azure's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tpulint.codes import CODES
from tpulint.finding import Finding, Severity
from tpulint.output.context import RenderContext
from tpulint.output.summary import summary
from tpulint.output.text import BOLD, CYAN, RED, flags, one_line, paint, shown

# One line a finding, `path:row:column: CODE message`, and a summary.


def render_concise(findings: Sequence[Finding], context: RenderContext) -> str:
    lines = []
    for finding in findings:
        place = one_line(context.short(finding.span))
        if context.color:
            path, _, rest = place.partition(":")
            place = f"{paint(path, BOLD)}{paint(':', CYAN)}{rest}"
        code = paint(finding.code, RED, BOLD) if context.color else finding.code
        lines.append(f"{place}: {code} {flags(finding)}{one_line(finding.message)}\n")
    return "".join(lines) + summary(findings, context)


# The findings by file, their places in a column, as ruff groups them.


def render_grouped(findings: Sequence[Finding], context: RenderContext) -> str:
    groups = groupby(findings, key=lambda finding: finding.span.filename)
    blocks = [block(filename, list(in_file), context) for filename, in_file in groups]
    return "".join(blocks) + summary(findings, context)


def block(filename: str, findings: Sequence[Finding], context: RenderContext) -> str:
    """Return the file's name, and below it a line per finding."""
    name = shown(filename)
    lines = [f"{paint(name, BOLD) if context.color else name}:"]
    places = [context.short(finding.span)[len(filename) + 1 :] for finding in findings]
    width = max(map(len, places))
    for place, finding in zip(places, findings, strict=True):
        code = paint(finding.code, RED, BOLD) if context.color else finding.code
        lines.append(f"  {place:<{width}} {code} {flags(finding)}{one_line(finding.message)}")
    return "\n".join(lines) + "\n\n"


# pylint's parseable lines, `path:row: [CODE] message`, which many editors and CI tools read.


def render_pylint(findings: Sequence[Finding], context: RenderContext) -> str:
    return "".join(line(finding, context) for finding in findings)


def line(finding: Finding, context: RenderContext) -> str:
    row = context.file_row(finding.span.filename, finding.span.start.row)
    path = shown(finding.span.filename)
    return f"{path}:{row}: [{finding.code}] {one_line(finding.message)}\n"


# Workflow commands that GitHub shows as annotations.

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.PERFORMANCE: "notice"}


def render_github(findings: Sequence[Finding], context: RenderContext) -> str:
    return "".join(command(finding, context) for finding in findings)


def command(finding: Finding, context: RenderContext) -> str:
    """Return one annotation; a notebook's has the rows of its JSON, and no columns."""
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
    return (
        f"::{COMMANDS[CODES[finding.code].severity]} {listed}::{in_message(chr(10).join(lines))}\n"
    )


def in_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def in_field(text: str) -> str:
    return in_message(text).replace(":", "%3A").replace(",", "%2C")


# Logging commands that Azure Pipelines shows as issues of a build. They know two types, and a
# percent sign has a name of its own there.


def render_azure(findings: Sequence[Finding], context: RenderContext) -> str:
    return "".join(issue(finding, context) for finding in findings)


def issue(finding: Finding, context: RenderContext) -> str:
    """Return one issue; that of a notebook has the row of its JSON, and no column."""
    span = finding.span
    is_error = CODES[finding.code].severity is Severity.ERROR
    fields: dict[str, object] = {
        "type": "error" if is_error else "warning",
        "sourcepath": span.filename,
        "linenumber": context.file_row(span.filename, span.start.row),
        "columnnumber": span.start.column,
        "code": finding.code,
    }
    if context.is_notebook(span.filename):
        del fields["columnnumber"]
    listed = "".join(f"{key}={in_issue(str(value))};" for key, value in fields.items())
    return f"##vso[task.logissue {listed}]{in_issue(one_line(finding.message))}\n"


def in_issue(text: str) -> str:
    text = text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(";", "%3B").replace("]", "%5D")
