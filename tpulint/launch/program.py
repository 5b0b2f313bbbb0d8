"""A Python program, run in this process as `python SCRIPT ARGS` or `python -m MODULE ARGS` would.

It is `__main__`, with its own `sys.argv` and `sys.path[0]`; what it raises is shown by
`sys.excepthook` and in the program's own frames.
"""

from __future__ import annotations

import os
import runpy
import sys
from types import TracebackType
from typing import NamedTuple

INTERRUPTED = 130  # what a shell says of a program that Ctrl-C has ended


class Program(NamedTuple):
    """The path of a script (or of a directory or zip file with a `__main__.py`), or a module."""

    name: str
    is_module: bool
    arguments: tuple[str, ...]


class Ended(NamedTuple):
    """`status` as the shell sees it; `error` is what has ended the program, SystemExit included."""

    status: int
    error: BaseException | None = None


def execute(program: Program) -> Ended:
    """Runs the program to its end; nothing that it raises comes out of here."""
    try:
        _start(program)
    except SystemExit as stop:
        return Ended(_status_of(stop.code), stop)
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        error.__traceback__ = _of_the_program(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return Ended(INTERRUPTED if interrupted else 1, error)
    return Ended(0)


def _start(program: Program) -> None:
    if program.is_module:
        sys.argv = ["-m", *program.arguments]  # runpy puts the module's file in place of "-m"
        _begin_path_with(os.getcwd())
        runpy.run_module(program.name, run_name="__main__", alter_sys=True)
        return
    sys.argv = [program.name, *program.arguments]
    path = os.path.abspath(program.name)
    if os.path.isfile(path):
        _begin_path_with(os.path.dirname(os.path.realpath(path)))
    runpy.run_path(path, run_name="__main__")


def _begin_path_with(folder: str) -> None:
    """What tpulint itself was started from is no place of the program's modules."""
    if getattr(sys.flags, "safe_path", False):
        return
    sys.path[0] = folder


def _status_of(code: object) -> int:
    """The exit status of `sys.exit(code)`; what is no number goes to standard error, as ever."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _of_the_program(traceback: TracebackType | None) -> TracebackType | None:
    """`traceback` without the frames of what started the program."""
    while traceback is not None and traceback.tb_frame.f_globals.get("__name__") in _OURS:
        traceback = traceback.tb_next
    return traceback


_OURS = (__name__, "runpy")
