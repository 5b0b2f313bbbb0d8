"""The lanes that the functions of a program run in: the device, host clusters, the host."""

from __future__ import annotations

from collections.abc import Callable

from tpulint.analysis.domain.events import Context
from tpulint.analysis.domain.objects import Function
from tpulint.analysis.domain.site import Module
from tpulint.analysis.interpreter.frame import Frame
from tpulint.syntax.nodes import Statement

Called = dict[int, set[str]]  # lanes by the place of the function


class LaneRecorder:
    """An observer of calls: who runs each named function of the project that was followed.

    `checkpoint` is called at each of them, and may raise to end the reading.
    """

    statements = False

    def __init__(self, checkpoint: Callable[[], None] | None) -> None:
        self._checkpoint = checkpoint
        self._called: dict[str, tuple[Module, Called]] = {}

    def called(self, frame: Frame, function: Function, followed: bool) -> None:
        if self._checkpoint is not None:
            self._checkpoint()
        if followed and not function.code.is_lambda:
            path = function.module.path
            _, lanes = self._called.setdefault(path, (function.module, {}))
            lanes.setdefault(function.code.place, set()).add(frame.context.lane)

    def read(self, frame: Frame, statement: Statement, context: Context) -> None:
        """Statements are not asked for."""

    def by_row(self, path: str) -> dict[int, set[str]]:
        """Return the lanes of the functions in the module at the absolute `path`, by first row."""
        if path not in self._called:
            return {}
        module, lanes = self._called[path]
        return {module.span(place).start.row: found for place, found in lanes.items()}
