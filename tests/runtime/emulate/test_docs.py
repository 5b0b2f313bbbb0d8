"""Every example of docs/emulator.md runs and prints what is shown below it."""

from __future__ import annotations

import pytest

from tests.runtime.page_examples import Example, examples_of, printed_by, text_of

PAGE = "emulator.md"
EXAMPLES = examples_of(PAGE)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_example_prints_the_output_on_the_page(example: Example) -> None:
    assert printed_by(example.program) == example.expected


def test_every_example_shows_its_output() -> None:
    assert len(EXAMPLES) == text_of(PAGE).count("```python") >= 1
