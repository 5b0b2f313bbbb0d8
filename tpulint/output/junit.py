"""JUnit XML: a test suite a file, a failed test case a finding."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from itertools import groupby

from tpulint.codes import CODES
from tpulint.finding import Finding
from tpulint.output.context import RenderContext
from tpulint.output.text import shown


def junit(findings: Sequence[Finding], context: RenderContext) -> str:
    total = str(len(findings))
    root = ElementTree.Element(
        "testsuites", name="tpulint", tests=total, failures=total, errors="0"
    )
    for filename, group in groupby(findings, key=lambda finding: finding.span.filename):
        found = list(group)
        number = str(len(found))
        suite = ElementTree.SubElement(
            root, "testsuite", name=shown(filename), tests=number, failures=number, errors="0"
        )
        for finding in found:
            add_case(suite, finding, context)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'


def add_case(suite: ElementTree.Element, finding: Finding, context: RenderContext) -> None:
    start = finding.span.start
    case = ElementTree.SubElement(
        suite,
        "testcase",
        name=f"{finding.code} {CODES[finding.code].name}",
        classname=shown(finding.span.filename),
        file=shown(finding.span.filename),
        line=str(context.file_row(finding.span.filename, start.row)),
    )
    if not context.is_notebook(finding.span.filename):
        case.set("column", str(start.column))
    failure = ElementTree.SubElement(
        case, "failure", type=finding.certainty.value, message=shown(finding.message)
    )
    lines = [f"{context.short(finding.span)}: {finding.code} {finding.message}"]
    for step in finding.trace:
        lines.append(f"  {step.lane}: {context.short(step.span)}: {step.message}")
    failure.text = "\n".join(shown(line) for line in lines)
