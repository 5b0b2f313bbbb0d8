"""The words for texts that cannot be parsed."""

from __future__ import annotations

import ast

import pytest

from tpulint.syntax.parse import SyntaxProblem, may_nest_deeply, parse


def test_a_fault_of_the_code_is_reported_in_the_words_of_python() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse("x = (\n")
    assert (caught.value.reason, caught.value.row) == ("'(' was never closed", 1)


def test_false_accusation_of_a_file_that_only_libcst_cannot_read() -> None:
    """A tab counts as eight blanks for Python, and as one more indent for libcst."""
    text = "def f():\n    if a:\n\t    b = 1\n    return 2\n"
    ast.parse(text)
    with pytest.raises(SyntaxProblem) as caught:
        parse(text)
    assert caught.value.reason.startswith("Python can read this file, but libcst cannot: ")


NESTING = {
    "[(" * 20 + "{}" + ")]" * 20: True,
    "[(" * 20 + ")]" * 20: False,
    "f(){}[]" * 100: False,
    "# " + "(" * 41: True,
    "# " + ")" * 100: False,
}


@pytest.mark.parametrize("text", NESTING)
def test_the_text_shows_how_deep_brackets_nest(text: str) -> None:
    assert may_nest_deeply(text) is NESTING[text]
