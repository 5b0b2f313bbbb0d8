"""Cells are read as the IPython reads them that takes most."""

from __future__ import annotations

import pytest

from tpulint.notebook import Cell, python_cell, restored


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


@pytest.mark.parametrize(
    ("written", "python"),
    [
        ("%time model.fit(x)", "if 1: model.fit(x)  # magic: %time"),
        ("%timeit  f('%time')  # g", "if    1: f('%time')  # g  # magic: %timeit"),
        ("%timeit -n 3 f()", "pass  # magic: %timeit -n 3 f()"),
        ("%time for x in y: f(x)", "pass  # magic: %time for x in y: f(x)"),
        ("%time", "pass  # magic: %time"),
    ],
)
def test_a_measured_statement_is_read(written: str, python: str) -> None:
    """Missed before: `%time model.fit(...)` was passed over as a command."""
    assert python_cell(written) == Cell(python)
    assert python_cell(f"if x:\n    {written}") == Cell(f"if x:\n    {python}")
    assert restored(python) == written
    assert restored(f"    {python}") == f"    {written}"


def test_a_measured_statement_takes_a_comment() -> None:
    """`--add-suppressions` wrote what stands in for the magic into the notebook."""
    comment = "  # tpulint: ignore[TPU501] -- why"
    assert restored(f"if 1: f()  # magic: %time{comment}") == f"%time f(){comment}"
    again = python_cell(f"%time f(){comment}").text
    assert restored(again) == f"%time f(){comment}"


def test_a_measured_statement_keeps_its_column() -> None:
    for magic in ("%time ", "%timeit ", "%prun   ", "%memit "):
        assert python_cell(f"{magic}f()").text.index("f()") == len(magic)


@pytest.mark.parametrize(
    "comment", ["#@title Keep the session", "## prevent shutdown\n\n# of Colab"]
)
def test_false_syntax_error_of_a_magic_below_a_comment(comment: str) -> None:
    """Colab passes over comments before the magic of a cell, such as the title of a form."""
    script = f"{comment}\n%%javascript\nfunction keep(){{ click() }}"
    assert python_cell(script).problem is None
    assert all(line.startswith("pass  # magic: ") for line in python_cell(script).text.split("\n"))
    assert python_cell(f"{comment}\n%%time\nx = 1").text.endswith("\nx = 1")


@pytest.mark.parametrize(
    "command", ["cd ./drive/MyDrive", "cd ..", "ls .", "matplotlib inline", "load_ext tensorboard"]
)
def test_false_syntax_error_of_a_command_without_its_sign(command: str) -> None:
    """IPython runs its own commands without a `%` where a cell has nothing else."""
    assert python_cell(command) == Cell(f"pass  # magic: {command}")


def test_names_of_commands_stay_python() -> None:
    cell = "run = time.time\nls.sort()\nmore [0]"
    assert python_cell(cell) == Cell(cell)
