"""A line as it is written: its statement's rows, and its names."""

from __future__ import annotations

import pytest

from tpulint.explain.account import dotted_names, function_rows, has_place, statement_rows

TEXT = '''\
import math
@decorated
@twice(
    1
)
def outer(
    x,
):
    """Text."""
    y = (
        x
        + self.total.value
    )
    # a comment
    if y:
        pass
    else:
        return y
'''


@pytest.mark.parametrize(
    ("row", "rows"),
    [(1, (1, 1)), (2, (2, 8)), (4, (2, 8)), (7, (2, 8)), (11, (10, 13)), (15, (15, 15))],
)
def test_a_row_belongs_to_the_innermost_statement(row: int, rows: tuple[int, int]) -> None:
    actual = statement_rows(TEXT, row)
    assert actual is not None
    assert (actual.start, actual.stop - 1) == rows


@pytest.mark.parametrize("row", [14, 17])
def test_a_comment_and_an_else_are_no_statements(row: int) -> None:
    assert statement_rows(TEXT, row) is None


@pytest.mark.parametrize(("row", "has"), [(1, False), (2, True), (9, False), (16, False)])
def test_some_statements_have_no_place(row: int, has: bool) -> None:
    assert has_place(TEXT, row) is has


def test_dotted_names_are_given_from_the_outside_to_the_inside() -> None:
    assert dotted_names(TEXT, range(10, 14)) == ["y", "x", "self", "self.total", "self.total.value"]


def test_attributes_of_calls_are_no_names() -> None:
    assert dotted_names("f(x).shape[0].rank if a else 'b.c'\n", range(1, 2)) == ["f", "x", "a"]


def test_names_of_a_header_are_found_without_its_body() -> None:
    assert dotted_names("    with a.b as c:\n        d\n", range(1, 2)) == ["a", "a.b", "c"]


def test_functions_are_listed_by_the_row_of_their_def() -> None:
    assert function_rows(TEXT) == [(6, "outer")]
