"""The rules, found by the one map of codes: a code whose file exists is a rule."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Collection
from pathlib import Path
from typing import cast

from tpulint.analysis.domain.program import Program
from tpulint.codes import CODES
from tpulint.finding import Finding
from tpulint.rules.base import Reporter, Rule

HERE = Path(__file__).parent


def written() -> list[str]:
    """The codes that have a rule's file, in order."""
    return [code for code in CODES if is_written(code)]


@functools.cache
def is_written(code: str) -> bool:
    return (HERE / f"{CODES[code].path}.py").exists()


def load(code: str) -> Rule:
    """The module of the rule `code`."""
    return cast(
        Rule, importlib.import_module(f"tpulint.rules.{CODES[code].path.replace('/', '.')}")
    )


def page(code: str) -> str:
    """The text of the rule's page (markdown)."""
    return (HERE / f"{CODES[code].path}.md").read_text(encoding="utf-8")


def run(program: Program, codes: Collection[str]) -> list[Finding]:
    """The findings of the rules among `codes`, sorted by place and code."""
    findings: list[Finding] = []
    for code in CODES:
        if code in codes and is_written(code):
            reporter = Reporter(code)
            load(code).check(program, reporter)
            findings.extend(reporter.findings.values())
    return sorted(findings, key=lambda found: (found.span, found.code))
