"""Where in the user's own code we are: the frame nearest to the call that is not a library's."""

from __future__ import annotations

import os
import sys

import tensorflow as tf

_LIBRARIES = (
    os.path.dirname(os.path.abspath(tf.__file__)),
    os.path.dirname(os.path.abspath(__file__)),
    os.path.dirname(os.path.abspath(os.__file__)),
)
_SITE_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def users_place() -> str | None:
    """ "file:line" of the innermost frame of the user's code, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if is_users(filename):
            return f"{filename}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None


def place_of(error: BaseException) -> str | None:
    """ "file:line" of the innermost frame of the user's code that `error` passed, or None."""
    found = None
    traceback = error.__traceback__
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if is_users(filename):
            found = f"{filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found


def is_users(filename: str) -> bool:
    """Whether `filename` is neither of a library nor made up by the interpreter."""
    if filename.startswith("<"):
        return False
    if any(part in filename for part in _SITE_PACKAGES):
        return False
    return not filename.startswith(_LIBRARIES)
