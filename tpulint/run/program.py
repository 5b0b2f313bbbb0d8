"""A Python program or notebook, run in this process as Python or Jupyter would run it."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import io
import linecache
import os
import pkgutil
import runpy
import sys
import traceback
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, NamedTuple

from tpulint.run import failure, ipython_commands
from tpulint.source import UnreadableSource, read_source

# A Python program, run in this process as `python SCRIPT ARGS` or `python -m MODULE ARGS` would.
#
# It is `__main__`, with its own `sys.argv` and `sys.path[0]`; what it raises is shown by
# `sys.excepthook` and in the program's own frames.

OUR_FAULT = 70  # EX_SOFTWARE: the emulator has failed, not the program
INTERRUPTED = 130  # what a shell says of a program that Ctrl-C has ended


class UserProgram(NamedTuple):
    """A program to run, which is a file, a directory or a module.

    A file is a script, a notebook or a zip file; directories and zip files have a `__main__.py`.
    """

    name: str
    is_module: bool
    arguments: tuple[str, ...]

    def own_paths(self) -> tuple[str, ...]:
        """Return what the paths of the files of a module's package begin with, once it has run."""
        if not self.is_module:
            return ()
        name = self.name.partition(".")[0]
        if (spec := importlib.util.find_spec(name)) is None:
            return ()
        folders = [os.path.join(path, "") for path in spec.submodule_search_locations or ()]
        return (*folders, *([spec.origin] if spec.origin else []))

    def main_file(self) -> str:
        """Return the file that is `__main__`, once it has run."""
        if not self.is_module:
            return self.name
        spec = importlib.util.find_spec(self.name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{self.name}.__main__")
        return (spec.origin or "") if spec is not None else ""


class Ended(NamedTuple):
    """`status` as the shell sees it; `error` is what has ended the program, SystemExit included."""

    status: int
    error: BaseException | None = None


class CannotRun(BaseException):
    """A failure of the emulator or of TensorFlow, not of the program.

    It is no `Exception`, so that no program catches it; its cause says what has happened.
    """


def execute(
    program: UserProgram, interrupted: Callable[[], bool], note: Callable[[str], None]
) -> Ended:
    """Run the program to its end. Nothing comes out of here but CannotRun.

    `interrupted()` is asked whether Ctrl-C is behind the error that has ended it. `note` is told
    what the report should say.
    """
    try:
        _start(program, note)
    except CannotRun:
        raise
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return Ended((stop.code or 0) & 0xFF, stop)
        print(stop.code, file=sys.stderr)  # as Python does with a code that is no number
        return Ended(1, stop)
    except BaseException as error:
        if interrupted():
            error = KeyboardInterrupt().with_traceback(error.__traceback__)
        own = failure.internal_error_message(error)
        if own is not None and not failure.shows_all():
            print(own, file=sys.stderr)
            return Ended(OUR_FAULT, error)
        failure.strip_tpulint_frames(error)
        sys.excepthook(type(error), error, error.__traceback__)
        return Ended(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1, error)
    return Ended(0)


def _start(program: UserProgram, note: Callable[[str], None]) -> None:
    if program.is_module:
        sys.argv = ["-m", *program.arguments]  # runpy puts the module's file in place of "-m"
        _begin_path_with(os.getcwd())
        runpy.run_module(program.name, run_name="__main__", alter_sys=True)
        return
    sys.argv = [program.name, *program.arguments]
    path = os.path.join(os.getcwd(), program.name)
    if path.endswith(".ipynb"):
        _begin_path_with(os.path.dirname(os.path.realpath(path)))
        run_notebook(path, note)
        return
    if pkgutil.get_importer(path) is None:
        _begin_path_with(os.path.dirname(os.path.realpath(path)))
        with io.open_code(path) as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        _run(code, path, SourceFileLoader("__main__", path))
        return
    _begin_path_with(path)  # a directory or a zip file
    spec = PathFinder.find_spec("__main__", [path])
    loader: Any = spec.loader if spec else None
    if spec is None or loader is None:
        raise ImportError(f"can't find '__main__' module in {program.name!r}")
    _run(loader.get_code("__main__"), spec.origin, loader, spec)


def _run(code: Any, file: str | None, loader: Any, spec: ModuleSpec | None = None) -> None:
    """Execute `code` as the module `__main__`, which it stays until the process ends."""
    module = ModuleType("__main__")
    vars(module).update(__builtins__=builtins, __annotations__={}, __file__=file, __cached__=None)
    package = None if spec is None else ""
    vars(module).update(__loader__=loader, __package__=package, __spec__=spec)
    sys.modules["__main__"] = module
    exec(code, vars(module))


def _begin_path_with(folder: str) -> None:
    """Begin `sys.path` with the program's folder instead of the one tpulint was started from."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


# A notebook, run as a program: its code cells in their order, in one module `__main__`.


def run_notebook(path: str, note: Callable[[str], None]) -> None:
    """Run the cells of the notebook. IPython's lines that are skipped are on standard error.

    Raises:
        SyntaxError: it is no notebook, or a cell is no Python.
    """
    try:
        source = read_source(path)
    except UnreadableSource as problem:
        raise SyntaxError(str(problem), (path, 1, 1, None)) from None
    for reason, row, column in source.problems:
        raise SyntaxError(reason, (path, row, column, source.line(row)))

    def skip(number: int, line: str) -> None:
        failure.write_stderr(f"tpulint: {os.path.basename(path)}: cell {number}: skipped: {line}\n")

    commands = ipython_commands.Commands(skip, note)
    lines = source.text.splitlines(keepends=True)
    # Tracebacks, `inspect` and AutoGraph read the text from here, not from the notebook's JSON.
    linecache.cache[path] = (len(source.text), None, lines, path)
    sys.excepthook = traceback.print_exception  # Python's own reads the file
    if "" not in sys.path and not getattr(sys.flags, "safe_path", False):
        sys.path.insert(1, "")  # a cell may write a module into the working directory
    module = ModuleType("__main__")
    vars(module).update(__builtins__=builtins, display=print)
    vars(module)[ipython_commands.CALL] = commands.do
    sys.modules["__main__"] = module
    for number, first, last in source.cells:
        text = commands.python_of(number, "".join(lines[first - 1 : last]))
        try:
            run_cell(path, number, text, first, vars(module))
        except ModuleNotFoundError as error:
            commands.note_missing(error.name or "")
            raise


def run_cell(path: str, number: int, text: str, row: int, names: dict[str, object]) -> None:
    """Run a cell, whose text begins at `row`; what it raises says which cell it comes from."""
    try:
        tree = ast.parse(text, path)
        ast.increment_lineno(tree, row - 1)
        exec(compile(tree, path, "exec", dont_inherit=True), names)
    except Exception:
        failure.write_stderr(
            f"tpulint: {os.path.basename(path)}: cell {number}, which begins at line {row}:\n"
        )
        raise
