"""Tracebacks without the frames of tpulint, by the filter that TensorFlow has for its own.

So `tf.debugging.disable_traceback_filtering()` shows them all, and TPULINT_TRACEBACK does, too.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

from tpulint.runtime.tensorflow_internals.modules import errors_impl, tf_stack, traceback_utils
from tpulint.runtime.tensorflow_internals.patching import patched

_Function = TypeVar("_Function", bound=Callable[..., object])
_PACKAGE = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), ""
)


class _Building(threading.local):
    """The calls of a thread that build a computation now, one in another."""

    depth = 0


_building = _Building()


@contextmanager
def own_frames_hidden() -> Iterator[None]:
    """Let TensorFlow leave out tpulint's frames in the context, as it does its own.

    Out of tracebacks, and out of the stack that AutoGraph puts into an error's text.
    """
    if shows_all_frames():
        yield
        return
    process = traceback_utils._process_traceback_frames
    paths = (*traceback_utils._EXCLUDED_PATHS, _PACKAGE)

    def process_traceback_frames(traceback: TracebackType | None) -> Any:
        if _building.depth:  # what builds the computation looks at all frames
            return traceback
        # TensorFlow keeps the innermost frame where none is left, which must not be ours.
        rest = _without_own(traceback)
        return rest and process(rest)

    module = "tensorflow.python.util.traceback_utils"
    with (
        patched(f"{module}._EXCLUDED_PATHS", paths),
        patched(f"{module}._process_traceback_frames", process_traceback_frames),
    ):
        yield


def _without_own(traceback: TracebackType | None) -> TracebackType | None:
    frames = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            frames.append(traceback)
        traceback = traceback.tb_next
    rest: TracebackType | None = None
    for each in reversed(frames):
        rest = TracebackType(rest, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return rest


def frames_hidden(function: _Function) -> _Function:
    """Return `function`, with neither its frames nor those that it calls in tracebacks."""
    if shows_all_frames():
        return function
    hidden: _Function = traceback_utils.filter_traceback(function)
    return hidden


def builder(function: _Function) -> _Function:
    """Return `function`, hidden, whose operations do not remember tpulint's frames either.

    TensorFlow puts the stacks of operations into its errors.
    """

    @functools.wraps(function)
    def build(*args: Any, **kwargs: Any) -> Any:
        _building.depth += 1
        try:
            with _RuntimeFiles():
                return function(*args, **kwargs)
        finally:
            _building.depth -= 1

    return function if shows_all_frames() else frames_hidden(cast(_Function, build))


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


def errors_become(
    name: str, *finders: Callable[[str], Exception | None]
) -> AbstractContextManager[None]:
    """Return a context in which another error is raised in place of TensorFlow's error `name`.

    It is the first result, of the message, that is not None of `finders`, which must be of a
    subclass of that error.
    """
    kind = getattr(errors_impl, name)

    def __new__(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        if cls is kind and len(args) > 2:
            for each in finders:
                found = each(str(args[2]))
                if found is not None:
                    return found
        return Exception.__new__(cls, *args)

    return patched(f"tensorflow.python.framework.errors_impl.{name}.__new__", __new__)
