"""A notebook, run as a program: its code cells in their order, in one module `__main__`."""

from __future__ import annotations

import ast
import builtins
import linecache
import os
import sys
import traceback
from collections.abc import Iterator
from types import ModuleType

from tpulint.cli.run.say import say
from tpulint.notebook.cells import MARK
from tpulint.source import Source, UnreadableSource, read_source


def run_notebook(path: str) -> None:
    """Run the cells of the notebook. IPython's own lines are skipped, and named on standard error.

    Raises:
        SyntaxError: it is no notebook, or a cell is no Python.
    """
    try:
        source = read_source(path)
    except UnreadableSource as problem:
        raise SyntaxError(str(problem), (path, 1, 1, None)) from None
    for reason, row, column in source.problems:
        raise SyntaxError(reason, (path, row, column, source.line(row)))
    for number, line in skipped(source):
        say(f"tpulint: {os.path.basename(path)}: cell {number}: skipped: {line}\n")
    lines = source.text.splitlines(keepends=True)
    # Tracebacks, `inspect` and AutoGraph read the text from here, not from the notebook's JSON.
    linecache.cache[path] = (len(source.text), None, lines, path)
    sys.excepthook = traceback.print_exception  # Python's own reads the file
    module = ModuleType("__main__")
    vars(module).update(__builtins__=builtins, display=print)
    sys.modules["__main__"] = module
    for number, first, last in source.cells:
        run_cell(path, number, "".join(lines[first - 1 : last]), first, vars(module))


def run_cell(path: str, number: int, text: str, row: int, names: dict[str, object]) -> None:
    """Run a cell, whose text begins at `row`; what it raises says which cell it comes from."""
    try:
        tree = ast.parse(text, path)
        ast.increment_lineno(tree, row - 1)
        exec(compile(tree, path, "exec", dont_inherit=True), names)
    except Exception:
        say(f"tpulint: {os.path.basename(path)}: cell {number}, which begins at line {row}:\n")
        raise


def skipped(source: Source) -> Iterator[tuple[int, str]]:
    """The cell and the text of each line of IPython's own."""
    lines = source.text.splitlines()
    for number, first, last in source.cells:
        for line in lines[first - 1 : last]:
            if MARK in line:
                yield number, line.partition(MARK)[2].strip()
