"""The current place in the user's own code: the innermost frame that is not a library's."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tpulint.runtime import tensorflow_internals as tfi

_LIBRARIES = (
    os.path.dirname(os.path.abspath(tf.__file__)),
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
    os.path.dirname(os.path.abspath(os.__file__)),
)
_SITE_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def users_place() -> str | None:
    """Return "file:line" of the innermost current frame of the user's code, or None."""
    return _innermost(tfi.stack_here())


def is_called_by_strategy() -> bool:
    """Return whether TPUStrategy has called us on behalf of the user."""
    for filename, _ in reversed(tfi.stack_here()):
        if is_users(filename):
            return False
        if os.path.basename(filename) == "tpu_strategy.py":
            return True
    return False


def place_in_thread(thread: int) -> str | None:
    """Return "file:line" of the innermost frame of the user's code in a Python thread, or None."""
    return _innermost(tfi.stack_of_thread(thread))


def place_of_operation(op: Any) -> str | None:
    """Return "file:line" of the user's code that made `op`, or None."""
    return _innermost(_stack_of(op))


def place_of(error: BaseException) -> str | None:
    """Return "file:line" of the innermost frame of the user's code that `error` passed, or None."""
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    return _innermost(frames)


def _stack_of(op: Any) -> list[tuple[str, int]]:
    """Return (file, line) of each frame in which `op` was made, outermost first."""
    originals: dict[str, Any] = getattr(op.graph, "_tpulint_originals", {})
    original: Any = originals.get(op.name, op)
    return [(frame.filename, frame.lineno) for frame in original.traceback or ()]


def is_of_gradient(op: Any) -> bool:
    """Return whether TensorFlow made `op` while it took a gradient."""
    files = ("gradients_util.py", "backprop.py", "gradients_impl.py")
    return any(frame.filename.endswith(files) for frame in op.traceback)


def _innermost(frames: Iterable[tuple[str, int]]) -> str | None:
    users = [f"{filename}:{line}" for filename, line in frames if is_users(filename)]
    return users[-1] if users else None


def is_users(filename: str) -> bool:
    """Return whether `filename` is neither of a library nor made up by the interpreter."""
    if filename.startswith("<") or "__autograph_generated_file" in filename:
        return False
    if any(part in filename for part in _SITE_PACKAGES):
        return False
    return not filename.startswith(_LIBRARIES)
