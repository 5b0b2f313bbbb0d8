"""The catalogue is complete: each code has its rule, its page, and its text on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import codes
from scripts.imports import dotted
from tests.rules.pages import HEADINGS
from tpulint import rules
from tpulint.cli.main import main
from tpulint.codes import CODES, OF_NAMES, RULES, TABLE


def test_the_table_of_codes_is_that_of_the_classes() -> None:
    assert Path(TABLE).read_text("utf-8") == codes.table()


def test_a_rule_is_one_class_in_one_module_beside_its_page() -> None:
    modules = {path.with_suffix("") for path in rules.HERE.rglob("tpu*.py")}
    pages = {path.with_suffix("") for path in rules.HERE.rglob("tpu*.md")}
    assert modules == {rules.HERE / row.path for row in RULES.values()}
    assert pages == {rules.HERE / row.path for row in CODES.values()}
    for code, row in RULES.items():
        rule = type(rules.load(code))
        assert (rule.code, rule.__module__) == (code, dotted(rules.HERE / f"{row.path}.py"))


def test_the_command_line_explains_every_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "--all", "--output-format", "json"]) == 0
    output = {row["code"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(output) == set(CODES)
    for code, row in output.items():
        assert row["name"] == CODES[code].name
        for heading in HEADINGS:
            assert f"\n## {heading}\n" in row["explanation"], (code, heading)


def test_the_rules_about_names_alone_are_those_that_ask_for_absent_names() -> None:
    """These alone are run where a file names what its TensorFlow lacks, and no program is read."""
    sources = {rule: rules.HERE / f"{CODES[rule].path}.py" for rule in RULES}
    asking = {code for code, path in sources.items() if "absent_names" in path.read_text("utf-8")}
    assert asking == OF_NAMES
