"""Runs of a step that have failed, and state outside of the graph that they left half changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.execute.callbacks import call_python
from tpulint.runtime.extract.region import Operation

_CALLBACKS = "_tpulint_after_failures"


def after_failures(graph: Any, callback: Callable[[], None]) -> None:
    """Call `callback` when the step that is marked in `graph` begins again, after it has failed."""
    known = getattr(graph, _CALLBACKS, ())
    if callback not in known:
        setattr(graph, _CALLBACKS, (*known, callback))


class Failures:
    """The failures of the step that is marked in `graph`, of which one run is made at a time."""

    def __init__(self, graph: Any) -> None:
        self._callbacks: Sequence[Callable[[], None]] = getattr(graph, _CALLBACKS, ())
        self.watches = bool(self._callbacks)
        self._is_running = False

    def begin(self) -> list[Operation]:
        """Return operations that make the calls, if the run before has not ended."""
        return [call_python(self._begin)] if self.watches else []

    def end(self, waits_for: Sequence[Operation]) -> list[Operation]:
        """Return operations that note that the run has ended."""
        if not self.watches:
            return []
        with tf.control_dependencies(waits_for):
            return [call_python(self._end)]

    def _begin(self) -> None:
        if self._is_running:
            for callback in self._callbacks:
                callback()
        self._is_running = True

    def _end(self) -> None:
        self._is_running = False
