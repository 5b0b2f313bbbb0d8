"""Tracebacks as the program's author reads them: without the frames of tpulint."""

from __future__ import annotations

import os
import runpy
import traceback as tracebacks
from types import FrameType, TracebackType

_PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "")
_OURS = os.path.join(os.path.normpath(_PACKAGE), "")
_STARTER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.py")
_STARTS = frozenset({runpy.__file__, "<frozen runpy>"})


def is_ours(filename: str) -> bool:
    """Return whether the file is one of tpulint."""
    return filename.startswith(_OURS)


def stack_of(frame: FrameType) -> str:
    """The lines of the program that `frame` is in, as a traceback shows them."""
    stack = tracebacks.extract_stack(frame)
    starts = [row for row, each in enumerate(stack) if each.filename == _STARTER]
    shown = [each for each in stack[max(starts, default=-1) + 1 :] if not is_ours(each.filename)]
    lines = "".join(tracebacks.format_list(each for each in shown if each.filename not in _STARTS))
    return f"Traceback (most recent call last):\n{lines}"


def clean(error: BaseException) -> None:
    """Removes our frames from the traceback of `error`, and from those that it came from."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = _shown(_of_the_program(each.__traceback__))
        waiting += [each.__cause__, each.__context__]


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
