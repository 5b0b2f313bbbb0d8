"""The scaffolder lays files out where the rest of the project looks for them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.new_rule import ROOT, layout, objection
from tests.rules.pages import HEADINGS
from tpulint.codes import CODES, Code
from tpulint.finding import Severity
from tpulint.testing import read_page


def test_a_new_rule_is_laid_out_whole(tmp_path: Path) -> None:
    row = CODES["TPU201"]
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (2030-01-31)\n")
    rule, page, fragment = layout(row, tmp_path)
    assert rule == tmp_path / "tpulint/rules/clusters/tpu201_nested_outside_compilation.py"
    assert fragment == tmp_path / "changelog.d/tpu201.new_rule.md"
    texts = layout(row, tmp_path)
    (defined,) = [node for node in ast.parse(texts[rule]).body if isinstance(node, ast.ClassDef)]
    assert defined.name == "NestedOutsideCompilation"
    assert {ast.unparse(node) for node in defined.body if isinstance(node, ast.Assign)} == {
        "code = 'TPU201'",
        "name = 'nested-outside-compilation'",
        "severity = Severity.ERROR",
        f"summary = '{row.summary}'",
    }
    assert [node.name for node in defined.body if isinstance(node, ast.FunctionDef)] == ["check"]
    page.parent.mkdir(parents=True)
    page.write_text(texts[page], encoding="utf-8")
    read = read_page(page)
    assert (read.code, read.rule) == (row.code, row.name)
    assert read.headings == HEADINGS


def test_a_new_rule_of_an_unreleased_version_has_no_fragment(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text("## 0.2.0 (unreleased)\n\n## 0.1.0 (2030-01-31)\n")
    assert {path.suffix for path in layout(CODES["TPU201"], tmp_path)} == {".py", ".md"}
    assert len(layout(CODES["TPU201"], tmp_path)) == 2


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]])
def test_a_new_rule_passes_the_linter(command: list[str]) -> None:
    row = Code("TPU299", "example-fault", Severity.ERROR, "an example of a fault")
    rule, *_ = texts = layout(row)
    ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(rule), "-"]
    subprocess.run(ruff, cwd=ROOT, input=texts[rule], text=True, check=True)


@pytest.mark.parametrize(
    ("code", "name", "reason"),
    [
        ("TPU299", "example-fault", None),
        ("TPU201", "example-fault", "exists"),
        ("TPU299", "nested-outside-compilation", "exists"),
        ("TPU099", "example-fault", "in no family"),
        ("TPV999", "example-fault", "in no family"),
        ("TPU2", "example-fault", "in no family"),
        ("TPU299", "example_fault", "not in kebab case"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(code: str, name: str, reason: str | None) -> None:
    objection_found = objection(Code(code, name, Severity.ERROR, "an example"))
    assert objection_found == reason if reason is None else reason in (objection_found or "")
