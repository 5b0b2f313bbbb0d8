"""Operations of the graph that call Python when they are reached."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from tpulint.runtime import python_functions
from tpulint.runtime.execute.raising import safely
from tpulint.runtime.extract.region import Operation, Tensor

_stopped = threading.Event()


class Stopped(Exception):
    """Raised in the graph where every step is to end."""


def stop() -> None:
    """Make every step fail at its next such operation, until `resume`."""
    _stopped.set()


def resume() -> None:
    """Let steps run again."""
    _stopped.clear()


def call_python(function: Callable[..., Any], given: Sequence[Tensor] = ()) -> Operation:
    """Return an operation that calls `function`, which waits for nothing, with the values given."""
    called = safely(function)

    def call(*values: Any) -> None:
        if _stopped.is_set():
            raise Stopped("the program is being ended")
        called(*values)

    return python_functions.own_operation(call, given)
