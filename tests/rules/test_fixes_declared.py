"""The table of codes says which rules have a fix, and of which kind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rules.analysis import findings
from tests.rules.pages import pages
from tpulint.codes import CODES, RULES
from tpulint.rules import HERE
from tpulint.testing import Page


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.code)
def test_the_fixes_of_a_page_are_of_the_kinds_that_the_table_names(
    page: Page, tmp_path: Path
) -> None:
    for number, block in enumerate(page.blocks):
        folder = tmp_path / str(number)
        folder.mkdir()
        for finding in findings(block, folder):
            if finding.fix is not None:
                assert finding.fix.applicability in CODES[finding.code].fixes, finding


@pytest.mark.parametrize("code", RULES)
def test_a_rule_that_passes_a_fix_is_in_the_table(code: str) -> None:
    text = (HERE / f"{CODES[code].path}.py").read_text(encoding="utf-8")
    assert (re.search(r"\bfix=", text) is not None) == bool(CODES[code].fixes)
