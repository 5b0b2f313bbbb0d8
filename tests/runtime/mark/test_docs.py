"""Every example of docs/runtime.md runs and prints what is shown below it."""

from __future__ import annotations

import pytest

from tests.runtime.page_examples import Example, examples_of, printed_by, text_of

PAGE = "runtime.md"
EXAMPLES = examples_of(PAGE)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_example_prints_the_output_on_the_page(example: Example) -> None:
    assert printed_by(example.program) == example.expected


def test_every_example_shows_its_output() -> None:
    assert len(EXAMPLES) == text_of(PAGE).count("```python") >= 7


def test_every_error_and_warning_stands_in_the_table() -> None:
    from tpulint.runtime import errors

    text = text_of(PAGE)
    named = {name for name in errors.__all__ if not name.startswith("RuntimeFault")}
    assert {name for name in named if f"`{name}`" not in text} == set()
