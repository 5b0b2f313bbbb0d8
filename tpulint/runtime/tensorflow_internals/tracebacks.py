"""Tracebacks without the frames of tpulint, by the filter that TensorFlow has for its own.

So `tf.debugging.disable_traceback_filtering()` shows them all, and TPULINT_TRACEBACK does, too.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

from tpulint.runtime.tensorflow_internals.modules import errors_impl, tf_stack, traceback_utils
from tpulint.runtime.tensorflow_internals.patching import install, patch, patch_value

_Function = TypeVar("_Function", bound=Callable[..., object])
_PACKAGE = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), ""
)


class _Building(threading.local):
    """The calls of a thread that build a computation now, one in another."""

    depth = 0


_building = _Building()


@patch_value(
    "tensorflow.python.util.traceback_utils._EXCLUDED_PATHS",
    why="the frames of tpulint are left out of tracebacks, like TensorFlow's own",
)
def _exclude_own_frames(paths: tuple[str, ...]) -> tuple[str, ...]:
    """AutoGraph reads it, too, for the stack that it puts into an error's text."""
    return paths if shows_all_frames() else (*paths, _PACKAGE)


@patch(
    "tensorflow.python.util.traceback_utils._process_traceback_frames",
    why="the frames of tpulint are left out of tracebacks, like TensorFlow's own",
)
def _process_traceback_frames(
    process: Callable[[TracebackType | None], Any], traceback: TracebackType | None
) -> Any:
    if shows_all_frames():
        return process(traceback)
    if _building.depth:  # what builds the computation looks at all frames
        return traceback
    # TensorFlow keeps the innermost frame where none is left, which must not be tpulint's.
    rest = _without_own(traceback)
    return rest and process(rest)


def _without_own(traceback: TracebackType | None) -> TracebackType | None:
    frames = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            frames.append(traceback)
        traceback = traceback.tb_next
    rest: TracebackType | None = None
    for entry in reversed(frames):
        rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest


def frames_hidden(function: _Function) -> _Function:
    """Return `function`, with neither its frames nor those that it calls in tracebacks."""
    if shows_all_frames():
        return function
    hidden: _Function = traceback_utils.filter_traceback(function)
    return hidden


def builder(function: _Function) -> _Function:
    """Return `function`, hidden, whose operations do not remember tpulint's frames either.

    TensorFlow puts the stacks of operations into its errors. Programs call such functions first:
    so they install the patches.
    """

    @functools.wraps(function)
    def build(*args: Any, **kwargs: Any) -> Any:
        install()
        if shows_all_frames():
            return function(*args, **kwargs)
        _building.depth += 1
        try:
            with _RuntimeFiles():
                return function(*args, **kwargs)
        finally:
            _building.depth -= 1

    return frames_hidden(cast(_Function, build))


class _RuntimeFiles(tf_stack.StackTraceFilter):  # type: ignore[misc]
    """A filter of the stacks that operations remember."""

    def get_filtered_filenames(self) -> frozenset[str]:
        """Return the runtime's files, and those that the filters around this one leave out."""
        return _runtime_files().union(self.parent.get_filtered_filenames())


@functools.cache
def _runtime_files() -> frozenset[str]:
    return frozenset(map(str, Path(_PACKAGE, "runtime").rglob("*.py")))


def shows_all_frames() -> bool:
    """Return whether tracebacks are asked for with tpulint's own frames."""
    return bool(os.environ.get("TPULINT_TRACEBACK"))


InaccessibleTensorError = errors_impl.InaccessibleTensorError
