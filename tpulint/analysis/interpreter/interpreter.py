"""The reader of one program: its budgets, the identity of things, who answers an API call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tpulint.analysis.domain.class_order import mro
from tpulint.analysis.domain.context import FUNCTION
from tpulint.analysis.domain.effects import SCOPE
from tpulint.analysis.domain.events import Argument, Context, Variable
from tpulint.analysis.domain.objects import Class, Env, ExternalObject, Function, Instance
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Module, Site
from tpulint.analysis.domain.values import (
    UNKNOWN,
    Bound,
    External,
    Opaque,
    Strategy,
    Value,
    options,
)
from tpulint.analysis.interpreter import calls, expressions, statements, transfer
from tpulint.analysis.interpreter.attributes import weights
from tpulint.analysis.interpreter.checkpoint import Checkpoint
from tpulint.analysis.interpreter.frame import Frame
from tpulint.analysis.interpreter.module_linking import ModuleLinker
from tpulint.analysis.models import registry
from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.project import Project

DEPTH = 40  # calls inside one another
VISITS = 3  # readings of one function in one run, at least
SMALL = 60  # identifiers: a function with few of them is read more often
CALLS = 20_000  # readings of all functions in one run


class Interpreter(ModuleLinker):
    """Reads modules and functions; what it finds goes into `program`."""

    def __init__(self, project: Project, settings: Settings) -> None:
        super().__init__(project, Program(), self._read_body)
        self.settings = settings
        self.checkpoint = Checkpoint(self.program)
        self.variables: dict[Any, Variable] = {}
        self.global_step = Variable("global_step", "step", None, None)
        self.generic: dict[int, Instance] = {}
        self.called: set[int] = set()
        self.wanted: set[str] = set()  # names of functions whose callers may know more
        self.operations = 0
        self._active: list[int] = []
        self._visits: Counter[int] = Counter()
        self._calls = 0
        self._run = 0

    # Runs and budgets

    def new_run(self) -> Context:
        """The place of a fresh reading, with fresh budgets."""
        self._run += 1
        self._visits.clear()
        self._calls = 0
        return Context(run=self._run)

    def may_enter(self, frame: Frame, function: Function) -> bool:
        """Whether there is budget to read `function` here; recursion goes two deep."""
        code = id(function.code)
        self._calls += 1
        self._visits[code] += 1
        may = (
            self._calls <= CALLS
            and len(self._active) <= DEPTH
            and self._visits[code] <= max(VISITS, SMALL // (len(function.code.mentions) + 1))
            and self._active.count(code) < 2
        )
        if not may:
            self.may_build(frame)
        return may

    def known(self, value: Value) -> None:
        """What calls this function was seen: it is no root."""
        for option in options(value):
            function = self.function_of(option)
            if function is not None:
                self.called.add(id(function.code))

    def may_build(self, frame: Frame) -> None:
        """Something is read here that builds an operation, or may build one unseen."""
        if not frame.context.muted:
            self.operations += 1

    @contextmanager
    def entered(self, function: Function) -> Iterator[None]:
        self._active.append(id(function.code))
        self.called.add(id(function.code))
        try:
            yield
        finally:
            self._active.pop()

    def _read_body(self, module: Module, env: Env) -> None:
        statements.block(Frame(self, module, env, self.new_run()), module.facts.body)

    # Evaluation, as the other rooms call it

    def value(self, frame: Frame, node: Any) -> Value:
        return expressions.value(frame, node)

    def block(self, frame: Frame, body: list[Any]) -> bool:
        return statements.block(frame, body)

    def assign(self, frame: Frame, target: Any, item: Value) -> None:
        statements.assign(frame, target, item)

    def place_of(self, statement: Any) -> int:
        return statements.place_of(statement)

    def autograph(self, context: Context) -> bool:
        """Whether Python's `if` and `while` on tensors are converted here."""
        computation = context.computation
        if computation is not None and computation.mode == "function":
            return True
        return any(scope.kind == FUNCTION for scope in context.scopes)

    def api(
        self,
        frame: Frame,
        callee: External,
        receiver: Value | None,
        args: tuple[Argument, ...],
        site: Site,
    ) -> Value:
        """A call of something outside the project."""
        return registry.answer(frame, callee, receiver, args, site)

    def call_object(
        self, frame: Frame, callee: ExternalObject, args: tuple[Argument, ...], site: Site
    ) -> Value:
        """Calling an outside object: a layer reads its weights and gives a tensor."""
        self.may_build(frame)
        items = [each.value for each in args]
        transfer.touch(frame, items, site, callee.last)
        owned = weights(frame, callee)
        if owned.sort == "weights":
            transfer.access(frame, owned, "read", callee.last, site)
        return transfer.result(frame, items, site)

    def unknown_call(
        self, frame: Frame, callee: Value, args: tuple[Argument, ...], site: Site, named: str
    ) -> Value:
        """A call of something that is not seen at all."""
        return registry.answer_unknown(frame, callee, args, site, named)

    def wrapper(self, named: str, callee: Value) -> External | None:
        """The configured wrapper of outside_compilation that is called here, if one is."""
        wrappers = self.settings.wrappers
        if not wrappers:
            return None
        last = callee.last if isinstance(callee, External) else named
        if any(last == each.rpartition(".")[2] for each in wrappers):
            return External("tensorflow.compat.v1.tpu.outside_compilation")
        return None

    # Identity

    def variable(self, name: str, sort: str, site: Site, frame: Frame) -> Variable:
        """The variable that the call at `site` makes on this way of calls; the same each time."""
        key = (site, tuple(call.site for call in frame.context.call_chain), sort)
        found = self.variables.get(key)
        if found is None:
            found = Variable(name, sort, site, frame.context, self.strategy_of(frame.context))
            self.variables[key] = found
        return found

    def strategy_of(self, context: Context) -> Strategy | None:
        """The strategy under whose scope `context` is."""
        for scope in reversed(context.scopes):
            if scope.kind == "context" and scope.payload[0] == SCOPE:
                payload = scope.payload[1]
                return payload if isinstance(payload, Strategy) else None
        return None

    def generic_instance(self, cls: Class) -> Instance:
        """The object that stands for any instance of `cls`, where methods are read as roots."""
        found = self.generic.get(id(cls))
        if found is None:
            found = Instance(cls, None, None)
            self.generic[id(cls)] = found
        return found

    def set_up(self, frame: Frame, instance: Instance, name: str) -> bool:
        """Read the methods that set `self.name`, unseen; True where there was one to read."""
        if name in instance.attempted:
            return False
        instance.attempted.add(name)
        tried = False
        for cls in mro(instance.cls):
            if not isinstance(cls, Class):
                continue
            for index in cls.module.facts.setters(cls.code, name):
                function = cls.names.get(cls.module.facts.functions[index].name)
                if isinstance(function, Function) and id(function.code) not in self._active:
                    there = Frame(self, cls.module, Env({}), Context(muted=True))
                    args = opaque_arguments(function, instance)
                    calls.call_function(there, function, args, Site(cls.module, -1))
                    tried = True
            if name in instance.attributes:
                break
        return tried

    def function_of(self, value: Value) -> Function | None:
        """The project's function behind a callable."""
        while isinstance(value, Bound):
            value = value.function
        return value if isinstance(value, Function) else None


def opaque_arguments(function: Function, receiver: Value | None) -> tuple[Argument, ...]:
    """Arguments for a function whose caller is not seen: opaque things named as its parameters."""
    code = function.code.parameters
    names = [name for name, _ in [*code.positional_only, *code.positional]]
    site = Site(function.module, -1)
    found = []
    for position, name in enumerate(names):
        value = receiver if position == 0 and receiver is not None else Opaque(name)
        found.append(Argument(None, "", value, site, []))
    for name, _ in code.keyword_only:
        found.append(Argument(name, "", Opaque(name), site, []))
    if code.star is not None:
        found.append(Argument(None, "*", UNKNOWN, site, []))
    if code.star_star is not None:
        found.append(Argument(None, "**", UNKNOWN, site, []))
    return tuple(found)
