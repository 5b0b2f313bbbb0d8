"""Every example of docs/emulator.md runs and prints what stands below it."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "emulator.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = list(re.finditer(r"```python\n(.*?)```\n```text\n(.*?)```", TEXT, re.DOTALL))


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_example_prints_what_the_page_says(number: int) -> None:
    program, expected = EXAMPLES[number].groups()
    # Lines count from the block's first one, as the page's reader counts them.
    code = compile(program, f"example_{number}.py", "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"__name__": "__main__"})
    assert printed.getvalue() == expected


def test_every_example_says_what_it_prints() -> None:
    assert len(EXAMPLES) == TEXT.count("```python") >= 1
