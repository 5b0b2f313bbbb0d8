"""The interpreter of one program: its frames know how to evaluate, its modules are read here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from tpulint.absint.domain.events import Argument, Context
from tpulint.absint.domain.objects import Env, Function
from tpulint.absint.domain.program import ProgramEvents
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.values import Value
from tpulint.absint.interpreter import expressions, statements
from tpulint.absint.interpreter.frame import Frame, Library, Observer
from tpulint.absint.interpreter.module_linking import Importer
from tpulint.absint.interpreter.session import Session
from tpulint.absint.resolver.project import Project
from tpulint.syntax.nodes import Block, Expression

# Frames of Python's: a call that is read takes about 25, and so many fit a stack of 8 MB.
RECURSION_LIMIT = 5_000
F = TypeVar("F", bound="ObservedFrame")


@contextmanager
def room_for_recursion() -> Iterator[None]:
    """Let the interpreter recurse as deep as programs nest their calls."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class EvaluatingFrame(Frame):
    """A frame that evaluates expressions and statements of the summary language."""

    def value(self, node: Expression) -> Value:
        return expressions.value(self, node)

    def block(self, body: Block) -> bool:
        return statements.block(self, body)

    def assign(self, target: Expression, item: Value) -> None:
        statements.assign(self, target, item)


class ObservedFrame(EvaluatingFrame):
    """A frame that shows an observer each call it may follow."""

    observer: Observer

    def inner(
        self: F, module: Module, env: Env, context: Context, function: Function | None = None
    ) -> F:
        frame = super().inner(module, env, context, function)
        frame.observer = self.observer
        return frame

    def can_enter(self, function: Function, args: tuple[Argument, ...], site: Site) -> bool:
        followed = super().can_enter(function, args, site)
        self.observer.called(self, function, followed)
        return followed


class WatchedFrame(ObservedFrame):
    """A frame that shows an observer each statement it has read, too."""

    def block(self, body: Block) -> bool:
        for statement in body:
            before = self.context
            ended = super().block([statement])
            self.observer.read(self, statement, before)
            if ended:
                return True
        return False


class Interpreter(Session):
    """A reader of modules and functions; `library` answers calls that leave the project."""

    def __init__(
        self,
        project: Project,
        library: Library,
        observer: Observer | None = None,
        program: ProgramEvents | None = None,
    ) -> None:
        super().__init__(project, ProgramEvents() if program is None else program)
        self.library = library
        self.observer = observer

    def matters(self, path: str, asking: Importer | None) -> bool:
        return self.library.follows(self.project, path, asking)

    def is_generated(self, path: str) -> bool:
        return self.library.is_generated(self.project, path)

    def frame(self, module: Module, env: Env, context: Context) -> Frame:
        """Return a frame that nothing calls: that of a module's body, or around a root."""
        if self.observer is None:
            return EvaluatingFrame(self, self.library, module, env, context)
        kind = WatchedFrame if self.observer.statements else ObservedFrame
        frame = kind(self, self.library, module, env, context)
        frame.observer = self.observer
        return frame

    def read_body(self, module: Module, env: Env) -> None:
        self.frame(module, env, self.new_run()).block(module.facts.body)
