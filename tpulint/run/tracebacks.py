"""Standard error as the program's author reads it: tracebacks without frames of tpulint."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
import traceback as tracebacks
from collections.abc import Iterator
from types import FrameType, TracebackType

# Tracebacks as the program's author reads them: without the frames of tpulint.

WHOLE = "TPULINT_TRACEBACK"
_BEGINS = "tpulint cannot run this program"
_HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(os.path.dirname(_HERE), "")
_STARTER = os.path.join(_HERE, "program.py")
_STARTS = frozenset({runpy.__file__, "<frozen runpy>"})


def is_ours(filename: str) -> bool:
    """Return whether the file is one of tpulint."""
    return filename.startswith(PACKAGE)


def stack_of(frame: FrameType) -> str:
    """Return the lines of the program that `frame` is in, as a traceback shows them."""
    stack = tracebacks.extract_stack(frame)
    starts = [row for row, each in enumerate(stack) if each.filename == _STARTER]
    shown = [each for each in stack[max(starts, default=-1) + 1 :] if not is_ours(each.filename)]
    lines = "".join(tracebacks.format_list(each for each in shown if each.filename not in _STARTS))
    return f"Traceback (most recent call last):\n{lines}"


def clean(error: BaseException) -> None:
    """Remove our frames from the traceback of `error`, and from those that it came from."""
    for each in _with_causes(error):
        each.__traceback__ = _of_the_program(each.__traceback__)
        if not shows_all():
            each.__traceback__ = _shown(each.__traceback__)


def words_of_our_own(error: BaseException) -> str | None:
    """Return the message for an error of the emulator itself, without a traceback; else None."""
    for each in _with_causes(error):
        if any(
            kind.__qualname__ == "InternalError" and _is_runtimes(kind) for kind in _kinds(each)
        ):
            lines = str(each).splitlines()
            first = next((i for i, line in enumerate(lines) if _BEGINS in line), 0)
            indent = max(lines[first].find(_BEGINS), 0)
            return "\n".join(
                ["tpulint: " + lines[first][indent:], *_dedented(lines[first + 1 :], indent)]
            )
    return None


def shows_all() -> bool:
    """Return whether tracebacks are asked for with tpulint's own frames."""
    return bool(os.environ.get(WHOLE))


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += [each.__context__, each.__cause__]


def _kinds(error: BaseException) -> tuple[type, ...]:
    return type(error).__mro__


def _is_runtimes(kind: type) -> bool:
    return kind.__module__ == "tpulint.runtime.errors"


def _dedented(lines: list[str], indent: int) -> list[str]:
    return [line[indent:] if not line[:indent].strip() else line for line in lines]


def _of_the_program(traceback: TracebackType | None) -> TracebackType | None:
    """`traceback` without the frames of what has started the program."""
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if filename not in _STARTS and not is_ours(filename):
            break
        traceback = traceback.tb_next
    return traceback


def _shown(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while traceback is not None:
        if not is_ours(traceback.tb_frame.f_code.co_filename):
            kept.append(traceback)
        traceback = traceback.tb_next
    for each, following in zip(kept, [*kept[1:], None]):
        each.tb_next = following
    return kept[0] if kept else None


# Words of tpulint's own on standard error, whatever the program has made of `sys.stderr`.


def say(text: str) -> None:
    """Write to the standard error that the process was started with."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # it may be closed
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    with contextlib.suppress(OSError):
        os.write(2, text.encode("utf-8", "surrogateescape"))
