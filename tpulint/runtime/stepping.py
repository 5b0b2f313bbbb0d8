"""Options of steps that TensorFlow's signatures have no place for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from tpulint.runtime.schedule.variables import Options

_current: ContextVar[Options | None] = ContextVar("tpulint_options", default=None)
_of_process = Options()
"""The options where none are set around the code: a thread does not inherit those of another."""


def current_options() -> Options:
    """Return the options of a computation that is built now."""
    return _current.get() or _of_process


@contextmanager
def options(**changes: Any) -> Iterator[Options]:
    """Run computations built in the context with these options (the fields of `Options`).

    Raises:
        TypeError: there is no such option.
    """
    token = _current.set(replace(current_options(), **changes))
    try:
        yield current_options()
    finally:
        _current.reset(token)


@contextmanager
def process_options(**changes: Any) -> Iterator[None]:
    """Run the computations that any thread builds while the context is open with these options."""
    # A program may build computations in threads, which see no context variable of this one.
    global _of_process
    before = _of_process
    _of_process = replace(before, **changes)
    try:
        yield
    finally:
        _of_process = before
