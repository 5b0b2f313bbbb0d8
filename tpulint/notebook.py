"""Notebooks: what is IPython's own in a cell becomes a harmless row that can be restored.

Every row stays a row: a magic, a shell command with the rows that it goes on in, a blank that
a student is to fill (`x = # TODO`). A leading indent goes away for good, as IPython strips it.

Text that is no Python on purpose is recognized, too: an exercise with blanks, a transcript of a
session.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import warnings
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tpulint.disk import UnreadableSource

# One notebook cell as Python: what is IPython's own becomes a harmless row that comes back.

MARK = "  # magic: "
PYTHON_CELL_MAGICS = frozenset(
    ["capture", "debug", "prun", "pypy", "python", "python3", "time", "timeit", "tpulint_run"]
)
STATEMENT = re.compile(r"^(\s*)([%!?].*|[\w.]+\?{1,2}\s*)$")
ASSIGNMENT = re.compile(r"^(\s*[\w, .\[\]]+=\s*)([%!].*)$")
BLANK = re.compile(r"^(\s*[\w, .\[\]\"']+=\s*)(#.*)$")
# Commands that IPython runs without a `%` or `!` before them.
BARE_COMMAND = re.compile(
    r"^(\s*)((?:pip3?|conda|ll|ls|cd|cp|mv|rm|mkdir|rmdir|cat|less|more|man|pwd|env|who|run"
    r"|time|timeit|matplotlib|load_ext|reload_ext)(?:\s+(?:[^\s=(,.\[:].*|\.(?:[./].*)?))?)$"
)
STAND_IN = re.compile(rf"(?:pass|None){MARK}")
# A magic that runs a statement: `if 1: ` takes its place, so that the statement keeps its column.
MEASURED = re.compile(r"^(\s*)(%(?:time|timeit|prun|memit) +)((?!-)\S.*)$")
MEASURED_STAND_IN = re.compile(rf"^(\s*)(if +1: )(.*){MARK}(%\w+)(.*)$")
# The characters that change how the next row begins.
LEXEME = re.compile(r"\"\"\"|'''|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#.*|[()\[\]{}]|\\$")


class Cell(NamedTuple):
    """The Python of a cell. problem: the reason, row and column that make it none at all."""

    text: str
    problem: tuple[str, int, int] | None = None


def python_cell(written: str) -> Cell:
    """Return the cell as Python; one that is none is passed over, row by row."""
    text = python_text(written)
    if (problem := problem_of(text)) is None:
        return Cell(text)
    again = "\n".join(BARE_COMMAND.sub(rf"\1pass{MARK}\2", line) for line in text.split("\n"))
    if problem_of(again) is None:
        return Cell(again)
    return Cell(passed_over(written), None if is_unfinished(text, problem[1]) else problem)


def python_text(cell: str) -> str:
    """Return the cell with IPython's own lines made harmless; plain Python is unchanged."""
    cell = unindented(cell)
    if not is_python(cell):
        return passed_over(cell)
    return cell if problem_of(cell) is None else "\n".join(_python_lines(cell.split("\n")))


def is_python(cell: str) -> bool:
    """Return whether IPython runs the cell as Python, by the magic that it begins with."""
    lines = cell.split("\n")
    words = lines[first_row(lines)].split()
    magic = words[0] if words and words[0].startswith("%%") else None
    return magic is None or magic.removeprefix("%%") in PYTHON_CELL_MAGICS


def first_row(lines: Sequence[str]) -> int:
    """Return the row in which a cell begins, where its magic may be.

    Colab passes over comments before a magic, such as the title of a form; Jupyter refuses them.
    """
    rows = (row for row, line in enumerate(lines) if line.strip() and line.lstrip()[0] != "#")
    return next(rows, 0)


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
    if measured := MEASURED_STAND_IN.match(line):
        return f"{measured[1]}{measured[4].ljust(len(measured[2]))}{measured[3]}{measured[5]}"
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
        python_line = line if inside.open else _python_line(line)
        if python_line == line:
            inside.read(line)
        elif line.endswith("\\"):
            goes_on = line[: len(line) - len(line.lstrip())]
        yield python_line


def _python_line(line: str) -> str:
    if measured := MEASURED.match(line):
        python = f"{'if'.ljust(len(measured[2]) - 3)}1: {measured[3]}"
        if problem_of(python) is None:
            return f"{measured[1]}{python}{MARK}{measured[2].rstrip()}"
    if statement := STATEMENT.match(line):
        return f"{statement[1]}pass{MARK}{statement[2]}"
    assignment = ASSIGNMENT.match(line) or BLANK.match(line)
    return f"{assignment[1]}None{MARK}{assignment[2]}" if assignment else line


# Scripts that an editor wrote of a notebook, or runs cell by cell.

CELL_MARK = re.compile(r"^# ?(?:In\[[ \d*]*\]:|%%)|^Automatically generated by Colab", re.MULTILINE)
MARK_PARTS = ("In[", "%%", "generated by Colab")  # texts without any are searched faster


def python_script(written: str) -> str:
    """Return the text of a script as Python: its marks of cells show that it is IPython's.

    Any other text stays as it is, and so does Python.
    """
    if not any(part in written for part in MARK_PARTS) or not CELL_MARK.search(written):
        return written
    if problem_of(written) is None:
        return written
    newline = _newline(written)
    return newline.join(_python_lines(written.split(newline)))


def restored_script(text: str) -> str:
    """Return what `python_script` was called with, if nothing else has changed."""
    newline = _newline(text)
    return newline.join(map(restored, text.split(newline)))


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


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
        self._joined = False
        at = 0
        while at <= len(line):
            if self._quote:
                end = line.find(self._quote, at)
                if end < 0:
                    return
                at, self._quote = end + 3, ""
            if (lexeme := LEXEME.search(line, at)) is None:
                return
            at = lexeme.end()
            self._take(lexeme.group())

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


# Notebooks: code cells to one Python text and back, as ruff counts cells and rows.

SURROGATE = re.compile("[\ud800-\udfff]")
LONE = ("a cell holds half of a character: a lone surrogate", 1, 1)


class NotebookText(NamedTuple):
    """The code cells of a notebook as one Python text.

    cells: the (cell number, first row, last row) of each. problems: the (reason, row, column)
    of the cells that are no Python, which are passed over.
    """

    text: str
    cells: tuple[tuple[int, int, int], ...]
    problems: tuple[tuple[str, int, int], ...]


def read_notebook(data: bytes) -> NotebookText:
    """Return the code cells as one text; a cell that is no Python costs that cell only.

    Raises UnreadableSource for what is no notebook.
    """
    texts, spans, problems, row = [], [], [], 1
    for number, cell in code_cells(load(data)):
        text, problem = python_cell("".join(cell["source"]))
        if SURROGATE.search(text):
            text, problem = passed_over(SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)), LONE
        last = row + text.count("\n")
        texts.append(text + "\n")
        spans.append((number, row, last))
        if problem is not None:
            problems.append((problem[0], row + problem[1] - 1, problem[2]))
        row = last + 1
    return NotebookText("".join(texts), tuple(spans), tuple(problems))


def python_cells(data: bytes) -> bytes | None:
    """Return the Python cells as they are written, to be searched; None for no notebook."""
    try:
        cells = code_cells(load(data))
    except UnreadableSource:
        return None
    written = ("".join(cell["source"]) for _, cell in cells)
    return "\n".join(cell for cell in written if is_python(cell)).encode(errors="replace")


def write_notebook(data: bytes, cells: Mapping[int, str]) -> bytes:
    """Return the notebook's bytes with the text of some cells (number -> text) replaced."""
    notebook = load(data)
    for number, cell in code_cells(notebook):
        if number in cells:
            text = "\n".join(map(restored, cells[number].removesuffix("\n").split("\n")))
            was_list = isinstance(cell["source"], list)
            cell["source"] = text.splitlines(keepends=True) if was_list else text
    raw = data.decode("utf-8-sig")
    indent = re.search(r"\n([ \t]+)\"", raw)
    written = json.dumps(notebook, indent=indent.group(1) if indent else None, ensure_ascii=False)
    bom = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    return bom + (written + ("\n" if raw.endswith("\n") else "")).encode()


def load(data: bytes) -> dict[str, Any]:
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        reason = f"the notebook is not JSON: {error.msg}"
        raise UnreadableSource(reason, error.lineno, error.colno) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise UnreadableSource(f"the notebook cannot be read: {error}") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise UnreadableSource("the notebook has no list of cells")
    return notebook


def code_cells(notebook: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Return the Python cells with their numbers, 1-based over all cells."""
    metadata = notebook.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name", "python") if isinstance(info, dict) else "python"
    if "python" not in str(name).lower():  # what its kernel runs, as far as it says
        return []
    code_cells: list[tuple[int, dict[str, Any]]] = []
    for number, cell in enumerate(notebook["cells"], 1):
        is_code = isinstance(cell, dict) and cell.get("cell_type") == "code"
        source = cell.get("source") if is_code else None
        if isinstance(source, Sequence) and all(isinstance(part, str) for part in source):
            code_cells.append((number, cell))
    return code_cells


# The rows of a notebook's cells in the file itself, for tools that show the file as text.

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def file_rows(data: bytes) -> Mapping[tuple[int, int], int]:
    """Return the file's row of each (cell, row of the cell), cells 1-based over all cells.

    Reads the notebook's JSON token by token, for a parser gives no places. A cell whose source
    is one string lies in one row as a whole.
    """
    text = data.decode("utf-8-sig", "replace")
    rows: dict[tuple[int, int], int] = {}
    path: list[str | int] = []  # keys and indices down to the value that comes next
    row, scanned = 1, 0
    for token in TOKEN.finditer(text):
        row += text.count("\n", scanned, token.start())
        scanned = token.start()
        word = token.group()
        if word in "{[":
            path.append("" if word == "{" else 0)
        elif word in "}]," and not path:
            break  # no JSON: nothing that follows has a place
        elif word in "}]":
            path.pop()
        elif word == ",":
            last = path[-1]
            path[-1] = "" if isinstance(last, str) else last + 1
        elif word == ":":
            continue
        elif path and path[-1] == "":  # a key
            path[-1] = word[1:-1]
        elif is_cell_source(path) and word.startswith('"'):
            add_rows(rows, path, word, row)
    return rows


def is_cell_source(path: list[str | int]) -> bool:
    """Return whether the path leads to a cell's source, or to a string of its list."""
    if len(path) not in (3, 4) or path[0] != "cells" or path[2] != "source":
        return False
    return isinstance(path[1], int) and isinstance(path[-1], int if len(path) == 4 else str)


def add_rows(
    rows_in_file: dict[tuple[int, int], int], path: list[str | int], string: str, file_row: int
) -> None:
    """Note the rows of the cell that begin in `string`."""
    cell, breaks = int(path[1]) + 1, json.loads(string, strict=False).count("\n")
    first = 1
    while (cell, first) in rows_in_file:
        first += 1
    rows = breaks + 1 if len(path) == 3 else max(breaks, 1)
    rows_in_file.update({(cell, first + number): file_row for number in range(rows)})


PROMPT = re.compile(r"\s*(?:>>> |In ?\[\d*\]: )")
UNFINISHED = re.compile(
    r"[=(,:]\s*#|#.*\b(?:to-?do|fixme|your\s+(?:code|solution)|fill\s+in|complete\s+the)\b",
    re.IGNORECASE,
)
NEAR = 2  # rows before the one where a parser gives up


def is_unfinished(text: str, row: int) -> bool:
    """Return whether the text, which a parser refused at `row`, is not meant to be parsed."""
    lines = text.split("\n")
    if PROMPT.match(text) or any(PROMPT.match(line) for line in lines[row - 1 : row]):
        return True
    return any(UNFINISHED.search(line) for line in lines[max(row - 1 - NEAR, 0) : row])
