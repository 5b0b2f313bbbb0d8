"""One notebook cell as Python: what is IPython's own becomes a harmless row that comes back.

Every row stays a row: a magic, a shell command with the rows that it goes on in, a blank that
a student is to fill (`x = # TODO`). A leading indent goes away for good, as IPython strips it.
"""

from __future__ import annotations

import ast
import functools
import re
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from tpulint.unfinished import is_unfinished

MARK = "  # magic: "
PYTHON_CELL_MAGICS = {"capture", "debug", "prun", "pypy", "python", "python3", "time", "timeit"}
STATEMENT = re.compile(r"^(\s*)([%!?].*|[\w.]+\?{1,2}\s*)$")
ASSIGNMENT = re.compile(r"^(\s*[\w, .\[\]]+=\s*)([%!].*)$")
BLANK = re.compile(r"^(\s*[\w, .\[\]\"']+=\s*)(#.*)$")
# Commands that IPython runs without a `%` or `!` before them.
BARE_COMMAND = re.compile(
    r"^(\s*)((?:pip3?|conda|ls|cd|cp|mv|rm|mkdir|rmdir|cat|pwd)(?:\s+[^\s=(,.\[:].*)?)$"
)
STAND_IN = re.compile(rf"(?:pass|None){MARK}")
# The characters that change how the next row begins.
LEXEME = re.compile(r"\"\"\"|'''|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#.*|[()\[\]{}]|\\$")


class Cell(NamedTuple):
    """The Python of a cell. problem: the reason, row and column that make it none at all."""

    text: str
    problem: tuple[str, int, int] | None = None


def python_cell(written: str) -> Cell:
    """Return the cell as Python; one that is none is passed over, row by row."""
    text = python_text(written)
    problem = problem_of(text)
    if problem is None:
        return Cell(text)
    again = "\n".join(_bare_command(line) for line in text.split("\n"))
    if problem_of(again) is None:
        return Cell(again)
    unfinished = is_unfinished(text, problem[1])
    return Cell(passed_over(written), None if unfinished else problem)


def python_text(cell: str) -> str:
    """Return the cell with IPython's own lines made harmless; plain Python is unchanged."""
    cell = unindented(cell)
    if not is_python(cell):
        return passed_over(cell)
    if problem_of(cell) is None:
        return cell
    return "\n".join(_python_lines(cell.split("\n")))


def is_python(cell: str) -> bool:
    """Return whether IPython runs the cell as Python, by the magic that it begins with."""
    first = cell.lstrip().split("\n", 1)[0].split()
    magic = first[0] if first and first[0].startswith("%%") else None
    return magic is None or magic.removeprefix("%%") in PYTHON_CELL_MAGICS


def unindented(cell: str) -> str:
    """Return the cell without the indent of its first line, taken from each line that has it.

    So does IPython before 9, Colab's 7.34 too. Newer ones take what all lines share, and refuse
    some of these cells: they run somewhere, so they are no syntax errors.
    """
    lines = cell.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return "\n".join(line.removeprefix(indent) for line in lines)


def passed_over(cell: str) -> str:
    """Return the cell with nothing in it to read."""
    return "\n".join(f"pass{MARK}{line}" for line in cell.split("\n"))


def restored(line: str) -> str:
    """Return the line as it is in the notebook."""
    return STAND_IN.sub("", line, count=1)


def _python_lines(lines: list[str]) -> Iterator[str]:
    """Yield the lines; only where a statement begins can one be IPython's own."""
    inside = Nesting()
    goes_on: str | None = None  # the indent of a command that goes on in the next line
    for line in lines:
        if goes_on is not None:
            yield f"{goes_on}pass{MARK}{line}"
            goes_on = goes_on if line.endswith("\\") else None
            continue
        made = line if inside.open else _python_line(line)
        if made != line:
            indent = line[: len(line) - len(line.lstrip())]
            goes_on = indent if line.endswith("\\") else None
        else:
            inside.read(line)
        yield made


def _python_line(line: str) -> str:
    statement = STATEMENT.match(line)
    if statement:
        return f"{statement[1]}pass{MARK}{statement[2]}"
    assignment = ASSIGNMENT.match(line) or BLANK.match(line)
    return f"{assignment[1]}None{MARK}{assignment[2]}" if assignment else line


def _bare_command(line: str) -> str:
    found = BARE_COMMAND.match(line)
    return f"{found[1]}pass{MARK}{found[2]}" if found else line


class Nesting:
    """The state between lines: inside brackets, inside a string, or after a backslash."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._joined = False

    @property
    def open(self) -> bool:
        """Return whether the next line begins no statement."""
        return self._depth > 0 or bool(self._quote) or self._joined

    def read(self, line: str) -> None:
        """Take in one line of Python."""
        self._joined = False
        at = 0
        while at <= len(line):
            if self._quote:
                end = line.find(self._quote, at)
                if end < 0:
                    return
                at, self._quote = end + 3, ""
            found = LEXEME.search(line, at)
            if found is None:
                return
            at = found.end()
            self._take(found.group())

    def _take(self, lexeme: str) -> None:
        if lexeme in ('"""', "'''"):
            self._quote = lexeme
        elif lexeme in ("(", "[", "{"):
            self._depth += 1
        elif lexeme in (")", "]", "}"):
            self._depth = max(self._depth - 1, 0)
        elif lexeme == "\\":
            self._joined = True


@functools.lru_cache(maxsize=1)  # most cells are plain Python, of which this is asked twice
def problem_of(cell: str) -> tuple[str, int, int] | None:
    """Return the reason, row and column why the text is no Python; None where it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(cell)
        except SyntaxError as error:
            return str(error.msg), error.lineno or 1, max(error.offset or 1, 1)
        except (ValueError, RecursionError, MemoryError) as error:
            return str(error) or type(error).__name__, 1, 1
    return None
