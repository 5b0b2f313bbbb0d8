"""The failure of a program while it ran, and the lines it passed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from tpulint.cli.run.tracebacks import PACKAGE
from tpulint.codes import CODES

LIBRARIES = (
    PACKAGE,
    os.path.join(os.path.dirname(os.path.abspath(os.__file__)), ""),
)


class RunFailure(NamedTuple):
    """An error that ended the program, or a warning of the runtime that was given on its way.

    `code` is that of its rule, or empty for an error that is not the runtime's; `place` is the
    user's "file:line", or empty; `frames` are the (file, line) that it passed, innermost last.
    """

    kind: str
    code: str
    place: str
    frames: tuple[tuple[str, int], ...]


def failure_of(error: BaseException | None) -> RunFailure | None:
    """The runtime's fault that `error` is, or that it came from; else `error` itself."""
    for each in chain_of(error):
        code = str(getattr(each, "rule", ""))
        if code in CODES:
            place = getattr(each, "place", None) or ""
            return RunFailure(type(each).__name__, code, place, tuple(frames_of(each)))
    if not isinstance(error, Exception):  # the program has ended by its own will, or by Ctrl-C
        return None
    frames = [*frames_of(error), *frames_in_message(str(error))]
    return RunFailure(type(error).__name__, "", "", tuple(frames))


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """`error`, what it was raised from, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__


def frames_of(error: BaseException) -> Iterator[tuple[str, int]]:
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next


def frames_in_message(text: str) -> Iterator[tuple[str, int]]:
    """Return AutoGraph's lines in an error's text, as they are in the source."""
    for filename, row in re.findall(r'File "(.+?)", line (\d+)', text):
        yield filename, int(row)


def is_users(filename: str) -> bool:
    """Return whether the file is neither tpulint's nor Python's nor an installed package's."""
    installed = f"{os.sep}site-packages{os.sep}" in filename
    made = "__autograph_generated_file" in filename
    return not (installed or made or filename.startswith(LIBRARIES))


def line_of(failure: RunFailure) -> tuple[str, int]:
    filename, _, row = failure.place.rpartition(":")
    return filename, int(row)
