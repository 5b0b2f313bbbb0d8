"""The rules, found by the table of codes: a rule's module is imported when it is first run."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from pathlib import Path

from tpulint import plugins
from tpulint.codes import CODES, RULES
from tpulint.finding import Finding
from tpulint.frontends.tensorflow.program import Program
from tpulint.rules.base import REGISTERED, Reporter, Rule

HERE = Path(__file__).parent


def load(code: str) -> Rule:
    """Return the rule `code`."""
    if CODES[code].plugin:
        return plugins.active().rules[code]()
    importlib.import_module(".".join(["tpulint", "rules", *CODES[code].path.split("/")]))
    return REGISTERED[code]()


def page(code: str) -> str:
    """Return the text of the rule's page (markdown)."""
    if CODES[code].plugin:
        return plugins.page_of(code)
    return (HERE / f"{CODES[code].path}.md").read_text(encoding="utf-8")


def run(program: Program, codes: Collection[str]) -> list[Finding]:
    """Run the rules among `codes`, and return their findings, sorted by place and code."""
    findings: list[Finding] = []
    for code in RULES:
        if code in codes:
            reporter = Reporter(code)
            load(code).check(program, reporter)
            findings.extend(reporter.findings.values())
    return sorted(findings, key=lambda finding: (finding.span, finding.code))
