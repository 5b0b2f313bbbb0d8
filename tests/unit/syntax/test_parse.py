"""The words for texts that cannot be parsed."""

from __future__ import annotations

import pytest

from tpulint.syntax.parse import NESTED_TOO_DEEPLY, SyntaxProblem, parse


def test_a_fault_of_the_code_is_reported_in_the_words_of_python() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse("x = (\n")
    assert (caught.value.reason, caught.value.row) == ("'(' was never closed", 1)


def test_a_file_that_only_libcst_could_not_read_is_read() -> None:
    """A tab counts as eight blanks for Python, and as one more indent for libcst."""
    assert parse("def f():\n    if a:\n\t    b = 1\n    return 2\n").body


@pytest.mark.parametrize("text", ["x = " + "(" * 5000 + ")" * 5000, "x = " + "-" * 100_000 + "1"])
def test_nesting_that_breaks_pythons_parser_is_refused(text: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse(text)
    assert caught.value.reason == NESTED_TOO_DEEPLY
