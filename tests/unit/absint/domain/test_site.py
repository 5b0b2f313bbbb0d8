"""Modules of the project: which names may be written in them."""

from __future__ import annotations

import pytest

from tests.unit.reading import interpreter

NAMES = frozenset(["run", "fit"])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("trainer.run()\n", {"run"}),
        ("truncated = 1\n", {"run"}),
        ("x = 1\n", set()),
        ("x = 'é'\n", NAMES),
    ],
)
def test_only_names_that_may_be_written_there_are_looked_for(text: str, written: set[str]) -> None:
    _, module = interpreter(text)
    assert module.written(NAMES) == written
