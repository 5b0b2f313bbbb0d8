"""The fixes of everything on the rules' pages: they parse, come to an end, keep comments."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

from tests.rules.fixing import fixed
from tests.rules.pages import pages
from tpulint.codes import CODES
from tpulint.testing import Block

# The fixes of TPU002 are in comments, which pages take for marks.
FIXED = [code for code, row in CODES.items() if row.fixes and code != "TPU002"]
BLOCKS = [
    pytest.param(page.code, block, id=f"{page.code}-{number}")
    for page in pages()
    if page.code in FIXED
    for number, block in enumerate(page.blocks)
    if any(mark.code == page.code for mark in block.expected)
]


@pytest.mark.parametrize(("code", "block"), BLOCKS)
def test_a_fixed_block_parses_and_keeps_its_comments(
    code: str, block: Block, tmp_path: Path
) -> None:
    done = fixed(block, tmp_path, [code])
    assert not done.messages
    for filename, data in done.files.items():
        assert ast.parse(data)
        before = Path(filename).read_text(encoding="utf-8")
        assert comments(data.decode()) == comments(before)
    # The rest has no fix: the next run changes nothing.
    assert all(finding.fix is None for finding in done.findings)


@pytest.mark.parametrize("code", FIXED)
def test_a_page_shows_a_finding_with_a_fix(code: str, tmp_path: Path) -> None:
    counted = 0
    for number, block in enumerate(
        example for page in pages() if page.code == code for example in page.blocks
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        counted += sum(fixed(block, folder, [code]).counts.values())
    assert counted


def comments(text: str) -> list[str]:
    """The comments of a file, in order."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]
