"""Formats of one line per finding: concise, grouped by file, pylint's, GitHub's and Azure's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tpulint.codes import CODES
from tpulint.finding import Finding, Severity
from tpulint.output.context import RenderContext
from tpulint.output.summary import summary
from tpulint.output.text import BOLD, CYAN, RED, flags, one_line, shown, styled

# One line a finding, `path:row:column: CODE message`, and a summary.


def render_concise(findings: Sequence[Finding], context: RenderContext) -> str:
    lines = []
    for finding in findings:
        path, colon, rest = one_line(context.short(finding.span)).partition(":")
        place = f"{styled(context, path, BOLD)}{styled(context, colon, CYAN)}{rest}"
        lines.append(f"{place}: {described(finding, context)}\n")
    return "".join(lines) + summary(findings, context)


def described(finding: Finding, context: RenderContext) -> str:
    code = styled(context, finding.code, RED, BOLD)
    return f"{code} {flags(finding)}{one_line(finding.message)}"


# The findings by file, their places in a column, as ruff groups them.


def render_grouped(findings: Sequence[Finding], context: RenderContext) -> str:
    lines = []
    for filename, group in groupby(findings, key=lambda finding: finding.span.filename):
        lines.append(f"{styled(context, shown(filename), BOLD)}:\n")
        rows = [(context.short(finding.span)[len(filename) + 1 :], finding) for finding in group]
        width = max(len(place) for place, _ in rows)
        for place, finding in rows:
            lines.append(f"  {place:<{width}} {described(finding, context)}\n")
        lines.append("\n")
    return "".join(lines) + summary(findings, context)


# pylint's parseable lines, `path:row: [CODE] message`, which many editors and CI tools read.


def render_pylint(findings: Sequence[Finding], context: RenderContext) -> str:
    lines = []
    for finding in findings:
        row = context.file_row(finding.span.filename, finding.span.start.row)
        path, message = shown(finding.span.filename), one_line(finding.message)
        lines.append(f"{path}:{row}: [{finding.code}] {message}\n")
    return "".join(lines)


# Workflow commands that GitHub shows as annotations. A notebook's has the rows of its JSON, and no
# columns.

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.PERFORMANCE: "notice"}


def render_github(findings: Sequence[Finding], context: RenderContext) -> str:
    commands = []
    for finding in findings:
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
        listed = ",".join(
            f"{key}={in_message(str(value)).replace(':', '%3A').replace(',', '%2C')}"
            for key, value in fields.items()
        )
        lines = [f"{context.short(span)}: {finding.code} {one_line(finding.message)}"]
        for step in finding.trace:
            lines.append(f"  {step.lane}: {context.short(step.span)}: {one_line(step.message)}")
        command = COMMANDS[CODES[finding.code].severity]
        commands.append(f"::{command} {listed}::{in_message(chr(10).join(lines))}\n")
    return "".join(commands)


def in_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# Logging commands that Azure Pipelines shows as issues of a build. They know two types, and a
# percent sign has a name of its own there. That of a notebook has the row of its JSON, and no
# column.


def render_azure(findings: Sequence[Finding], context: RenderContext) -> str:
    issues = []
    for finding in findings:
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
        issues.append(f"##vso[task.logissue {listed}]{in_issue(one_line(finding.message))}\n")
    return "".join(issues)


def in_issue(text: str) -> str:
    text = text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(";", "%3B").replace("]", "%5D")
