"""Errors of tpulint itself, reported in one short message that does not blame the program."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import tensorflow as tf

from tpulint import __version__
from tpulint.runtime.errors import InternalError, RuntimeFault
from tpulint.runtime.source_location import operation_location

ISSUES = "https://github.com/tpulint/tpulint/issues"
_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
BUG_EXCEPTIONS = (KeyError, IndexError, AssertionError, NameError, RecursionError)
"""Exceptions that no code raises on purpose."""


@contextmanager
def wrap_internal_errors() -> Iterator[None]:
    """Report any exception in the context, which runs no code of the user's, as tpulint's own."""
    try:
        yield
    except (RuntimeFault, tf.errors.OpError):
        raise
    except Exception as error:
        raise internal_error(error) from error


@contextmanager
def wrap_internal_errors_except_user_code() -> Iterator[None]:
    """Report the exceptions of tpulint's own code in the context, which also runs the user's."""
    try:
        yield
    except BUG_EXCEPTIONS as error:
        if not isinstance(error, RuntimeFault) and _is_ours(error):
            raise internal_error(error) from error
        raise


def internal_error(error: Exception) -> InternalError:
    """Return `error` as an InternalError, with its place in tpulint and its operation."""
    filename, line = _innermost(error)
    op = _operation(error)
    at = f" at the operation '{op.name}' ({op.type})" if op is not None else ""
    # A message of TensorFlow's may hold a whole graph: it is cut below.
    text = " ".join(str(error).split())
    return InternalError(
        f"tpulint cannot run this program, by an error of its own{at}\n"
        f"  {type(error).__name__}: {text[:200]} ({filename}:{line}, tpulint {__version__}, "
        f"TensorFlow {tf.__version__})\n"
        "  It says nothing against the program, which is unchanged. Please report it, with the "
        f"program if you can: {ISSUES}",
        place=operation_location(op) if op is not None else None,
    )


def _is_ours(error: BaseException) -> bool:
    frames = list(_frames(error.__traceback__))
    return bool(frames) and frames[-1].tb_frame.f_code.co_filename.startswith(_HERE)


def _innermost(error: BaseException) -> tuple[str, int]:
    """Return the file and line in tpulint where `error` arose."""
    places = [
        (entry.tb_frame.f_code.co_filename, entry.tb_lineno)
        for entry in _frames(error.__traceback__)
        if entry.tb_frame.f_code.co_filename.startswith(_HERE)
    ]
    filename, line = places[-1] if places else (__file__, 0)
    return os.path.join("tpulint", "runtime", filename.removeprefix(_HERE)), line


def _operation(error: BaseException) -> Any | None:
    """Return the operation in the innermost frame of tpulint's that has one."""
    for entry in reversed(list(_frames(error.__traceback__))):
        if entry.tb_frame.f_code.co_filename.startswith(_HERE):
            values = list(entry.tb_frame.f_locals.values())
            ops = [value for value in values if isinstance(value, tf.Operation)]
            tensors = [value for value in values if isinstance(value, tf.Tensor)]
            ops += [value.op for value in tensors if hasattr(value, "graph")]
            if ops:
                return ops[0]
    return None


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next
