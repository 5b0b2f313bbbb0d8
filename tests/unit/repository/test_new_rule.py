"""The scaffolder lays files out where the rest of the project looks for them."""

from __future__ import annotations

import ast
from pathlib import Path

from scripts.new_rule import layout
from tests.rules.pages import HEADINGS, read_page
from tpulint.codes import CODES


def test_a_new_rule_is_laid_out_whole(tmp_path: Path) -> None:
    row = CODES["TPU201"]
    rule, page, fragment = layout(row, tmp_path)
    assert rule == tmp_path / "tpulint/rules/clusters/tpu201_nested_outside_compilation.py"
    assert fragment == tmp_path / "changelog.d/tpu201.new_rule.md"
    texts = layout(row, tmp_path)
    functions = [node for node in ast.parse(texts[rule]).body if isinstance(node, ast.FunctionDef)]
    assert [function.name for function in functions] == ["check"]
    page.parent.mkdir(parents=True)
    page.write_text(texts[page], encoding="utf-8")
    read = read_page(page)
    assert (read.code, read.rule) == (row.code, row.name)
    assert read.headings == HEADINGS
