"""The user's line that made an operation."""

from __future__ import annotations

from tpulint.runtime.extract.region import Operation
from tpulint.runtime.place import is_users


def place_of(op: Operation) -> str | None:
    """ "file:line" of the innermost frame of the user's code when `op` was made, or None."""
    for frame in reversed(list(op.traceback or ())):
        if is_users(frame.filename):
            return f"{frame.filename}:{frame.lineno}"
    return None
