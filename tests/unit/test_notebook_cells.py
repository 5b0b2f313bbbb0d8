"""Cells are read as the IPython reads them that takes most."""

from __future__ import annotations

import pytest

from tpulint.notebook import Cell, python_cell


@pytest.mark.parametrize(
    ("written", "python"),
    [
        ("  x = 1\n  y = 2", "x = 1\ny = 2"),
        ("\n  if x:\n    y = 2\n", "\nif x:\n  y = 2\n"),
        (" x = {\n    'a': 1,\n}", "x = {\n   'a': 1,\n}"),
        ("\tx = 1\n\n\ty = 2", "x = 1\n\ny = 2"),
        ("if x:\n  y = 2", "if x:\n  y = 2"),
    ],
)
def test_false_syntax_error_of_a_cell_with_a_leading_indent(written: str, python: str) -> None:
    """IPython before 9 (Colab's is 7.34) takes it from each line that has it."""
    assert python_cell(written) == Cell(python)


def test_a_cell_that_ipython_refuses_is_a_problem() -> None:
    cell = python_cell("x = 1\n  y = 2")
    assert cell.problem is not None
    assert cell.problem[0] == "unexpected indent"
