"""The interface of an observer of the interpreter; without one, nothing is recorded."""

from __future__ import annotations

from typing import Protocol

from tpulint.analysis.domain.events import Context
from tpulint.analysis.domain.objects import Function
from tpulint.analysis.interpreter.frame import Frame
from tpulint.syntax.nodes import Statement


class Observer(Protocol):
    """A receiver of what a program's frames do, in their order.

    statements: it wants to know of each statement, not only of the calls.
    """

    @property
    def statements(self) -> bool: ...

    def called(self, frame: Frame, function: Function, followed: bool) -> None:
        """Note that `frame` calls a function of the project, which may be left out."""

    def read(self, frame: Frame, statement: Statement, context: Context) -> None:
        """Note that `frame` has read a statement, which began in `context`."""
