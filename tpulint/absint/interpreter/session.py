"""The state of one reading of a program: its budgets, and the identity of what it meets.

The budgets say how often and how deep the functions of a program are read.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from tpulint.absint.domain.context import Scope
from tpulint.absint.domain.events import Arguments, Context, Operation, Variable
from tpulint.absint.domain.objects import Class, Function, Instance, function_of, mro
from tpulint.absint.domain.program import ProgramEvents, ReadingFailure
from tpulint.absint.domain.site import CallStep, Module, Site
from tpulint.absint.domain.structures import STRUCTURES, parts
from tpulint.absint.domain.values import Bound, Opaque, Partial, Value
from tpulint.absint.interpreter.module_linking import ModuleLibrary, ModuleLinker
from tpulint.absint.resolver.project import Project
from tpulint.finding import LIMIT, UnfollowedCall
from tpulint.syntax.nodes import Define, Name, Return

Identity = tuple[object, ...]
PASSED = frozenset([Function, Bound, Partial, Variable])  # what `_collect` adds anything of
MAX_CLOSURE_LEVELS = 2  # closures in closures
MAX_IDENTITY_ITEMS = 32  # of one container


def identity(function: Function, args: Arguments) -> Identity:
    """Return the identity of a call: its code and closure, and those of what is passed to it."""
    passed: list[object] = []
    _collect(function, passed)
    for argument in args:
        value = argument.value
        held: Iterable[Value] = ()
        if type(value) in PASSED:
            _collect(value, passed)
            if isinstance(value, Bound):
                passed.append(value.receiver)
        elif isinstance(value, Instance):
            held = value.attributes.values()
        elif isinstance(value, STRUCTURES):
            held = parts(value)
        for item in islice(held, MAX_IDENTITY_ITEMS) if held else ():
            if type(item) in PASSED:
                _collect(item, passed)
    return tuple(passed)


def makes_function(function: Function) -> bool:
    """Return whether a function returns, at its end, one that it defines: it costs little."""
    body = function.code.body
    last = body[-1] if body else None
    returns_name = isinstance(last, Return) and isinstance(last.value, Name)
    return returns_name and any(isinstance(statement, Define) for statement in body)


def code_of_call(function: Function, args: Arguments) -> Identity:
    """Return the code that takes part in a call: that of a recursion is the same each time."""
    codes = [id(function.code)]
    for argument in args:
        passed = function_of(argument.value) if type(argument.value) in PASSED else None
        if passed is not None:
            codes.append(id(passed.code))
    return tuple(codes)


def _collect(value: Value, passed: list[object], levels: int = MAX_CLOSURE_LEVELS) -> None:
    """Add the code of a function with what is passed to it and around it, or a variable."""
    if isinstance(value, Function):
        passed.append(id(value.code))
        env = value.env
        if env is not None and env.function is not None and levels:
            for name in env.function.code.parameters.names_by_position:
                item = env.names.get(name)
                if item is not None and type(item) in PASSED:
                    _collect(item, passed, levels - 1)
    elif isinstance(value, Bound):
        _collect(value.function, passed, levels)
    elif isinstance(value, Partial):
        for item in (value.function, *value.args, *(item for _, item in value.kwargs)):
            _collect(item, passed, levels)
    elif isinstance(value, Variable):
        passed.append(value)


MAX_CALL_DEPTH = 40  # calls inside one another
MIN_VISITS = 3  # readings of one function in one run, at least
GETTER_IDENTIFIERS = 2  # of `return self._model`: reading it costs less than to remember it
SMALL_FUNCTION_IDENTIFIERS = 60  # identifiers: a function with few of them is read more often
MAX_ALIKE_VISITS = 64  # readings of one function in one run; then once for each distinct call
MAX_BUILDER_VISITS = 16  # readings of what makes a function or a feed's data, with one group
MAX_CALLS = 20_000  # readings of all functions in one run
MAX_MADE = 8  # objects of one class that are kept
RECURSION = "recursion"


class GraphOperations:
    """The maker of the operations of one reading; it remembers what the next one takes."""

    def __init__(self) -> None:
        self._count = 0
        self._where: tuple[Site, tuple[object, ...]] | None = None
        self._calls: tuple[CallStep, ...] = ()
        self._taken: list[Operation] = []
        self._touched: list[Operation] = []
        self._written: list[Operation] = []

    def take(self, operation: Operation | None, context: Context, site: Site) -> None:
        """Note that the operation at `site` takes a result of `operation`."""
        if operation is not None and context.computation is not None:
            self._begin(context, site)
            self._taken.append(operation)

    def touch(
        self, context: Context, site: Site, mode: str, after: Operation | None
    ) -> Operation | None:
        """Return the operation that touches a variable: what writes takes what was given."""
        if context.computation is None:
            return None
        self._begin(context, site)
        sources = [] if mode == "read" else [*self._taken, *self._touched]
        operation = self._make(context, sources, mode == "unknown")
        operation.after = (after,) if after is not None else ()
        (self._written if mode == "write" else self._touched).append(operation)
        return operation

    def result(
        self, taken: Iterable[Operation | None], context: Context, site: Site, unseen: bool
    ) -> Operation | None:
        """Return the operation that makes a tensor at `site` of `taken` and what was touched.

        What a write gives is a read that waits for it, so no data crosses between the two.
        """
        # `_UnreadVariable` of tensorflow/python/ops/resource_variable_ops.py.
        if context.computation is None:
            return None
        self._begin(context, site)
        sources = [tensor for tensor in taken if tensor is not None]
        operation = self._make(context, [*sources, *self._touched], unseen)
        operation.after = tuple(self._written)
        return operation

    def _begin(self, context: Context, site: Site) -> None:
        where = site, context.scopes.rounds
        if where != self._where or context.call_chain is not self._calls:
            self._where, self._calls = where, context.call_chain
            self._taken, self._touched, self._written = [], [], []

    def _make(self, context: Context, sources: Iterable[Operation], unseen: bool) -> Operation:
        operation = Operation(self._count, context, tuple(dict.fromkeys(sources)), unseen=unseen)
        self._count += 1
        if context.computation is not None and not context.is_unrecorded:
            context.computation.operations.append(operation)
        return operation


class Session(ModuleLinker):
    """One reading: findings go into `program`, faults of the interpreter's own into `errors`.

    called: functions (by the id of their code) that something calls: they are no roots.
    mains: functions that a program starts with.
    wanted: names of functions whose callers may know more than a reading without them, with the
    paths of their modules.
    chooses_device: names of functions that were called, and make another strategy for others.
    left_to_callers: the paths of those that are given what is unknown, or give what is trained.
    closures: functions in functions that run steps, by the id of their code.
    escaped: functions that one root has returned, by the id of their code.
    opened: scopes that generators opened as context managers when last read, by their code's id.
    opens_clusters: the program names host clusters, so they may be opened anywhere.
    operations: how many operations were built so far, those that may have been included.
    graph: those of computations.
    returned: what functions gave when last called without arguments, by their code's id.

    A function has a budget for each group of functions and variables that are passed to it, so
    that calls with others do not use it up.
    """

    def __init__(self, project: Project, library: ModuleLibrary, program: ProgramEvents) -> None:
        super().__init__(project, library, program)
        self.failures: list[ReadingFailure] = []
        self.called: set[int] = set()
        self.mains: set[int] = set()
        self.wanted: dict[str, set[str]] = {}
        self.chooses_device: set[str] = set()
        self.left_to_callers: set[str] = set()
        self.closures: dict[int, Function] = {}
        self.escaped: set[int] = set()
        self.opened: dict[int, tuple[Scope, ...]] = {}
        self.opens_clusters = False
        self.operations = 0
        self.graph = GraphOperations()
        self.returned: dict[int, Value] = {}
        self._flags: dict[str, Opaque] = {}
        self._variables: dict[object, Variable] = {}
        self._generic: dict[int, Instance] = {}
        self._made: dict[int, list[Instance]] = {}
        self._active: list[Identity] = []  # the calls that are being read
        self._visits: dict[Hashable, int] = {}
        self._calls = 0
        self._reasons: dict[int, dict[str, None]] = {}  # why calls were not followed, by code
        self._unfollowed: dict[tuple[Site, str, str, str], None] = {}  # with names and reasons
        self._run = 0

    def inactive_names(self, module: Module) -> dict[str, Value]:
        """Return the names of a module, without the functions that are being read."""
        return {
            name: item
            for name, item in self.module_env(module).names.items()
            if not (isinstance(item, Function) and self.is_active(item))
        }

    def flag(self, path: str) -> Opaque:
        """Return what stands for the value of a flag, the same each time."""
        return self._flags.setdefault(path, Opaque(path, is_setting=True))

    # Runs and budgets

    def new_run(self) -> Context:
        """Return the context of a fresh reading, with fresh budgets."""
        self._run += 1
        self._visits.clear()
        self._calls = 0
        return Context(run=self._run)

    def can_enter(
        self, function: Function, args: Arguments, site: Site, part: Hashable = None
    ) -> bool:
        """Return whether there is budget to read `function`, called at `site`.

        part: what it builds a part of, each of which has a budget of its own.
        """
        budget = self._exceeded(function, args, part)
        if budget is None:
            return True
        self._reasons.setdefault(id(function.code), {})[budget] = None
        if budget != RECURSION:  # what a recursive function does has been read
            if site.place < 0:
                site = Site(function.module, function.code.place)
            self.note_unfollowed(site, function.name or "a lambda", budget)
        return False

    def _exceeded(self, function: Function, args: Arguments, part: Hashable) -> str | None:
        """Count a call; return the budget that it exceeds, None where it may be followed."""
        code, call = id(function.code), (part, *identity(function, args))
        self._calls += 1
        of_code = self._visits[code] = self._visits.get(code, 0) + 1
        visits = self._visits[call] = self._visits.get(call, 0) + 1
        if self._calls > MAX_CALLS:
            return f"more than {MAX_CALLS:,} calls in one run"
        if len(self._active) > MAX_CALL_DEPTH:
            return f"calls more than {MAX_CALL_DEPTH} deep"
        if self._active.count(code_of_call(function, args)) >= 2:
            return RECURSION
        identifiers = len(function.code.mentions)
        if identifiers <= GETTER_IDENTIFIERS:
            return None
        most = SMALL_FUNCTION_IDENTIFIERS // (identifiers + 1)
        # A feed takes its data from one of several functions, of which each makes another pipeline.
        if visits > most and (isinstance(part, Site) or makes_function(function)):
            most = MAX_BUILDER_VISITS
        is_spent = visits > MIN_VISITS and visits > most
        if is_spent or (visits > 1 and of_code > MAX_ALIKE_VISITS):
            return "analyzed for earlier calls only"
        return None

    def note_unfollowed(self, site: Site, name: str, reason: str, kind: str = LIMIT) -> None:
        """Note that a call of `name` is not followed, for a limit of the analysis by default."""
        self._unfollowed[site, name, reason, kind] = None

    @property
    def unfollowed(self) -> list[UnfollowedCall]:
        """The calls that were not followed although they may matter, by place."""
        return sorted(
            UnfollowedCall(site.span.filename, *site.span.start, name, reason, kind)
            for site, name, reason, kind in self._unfollowed
        )

    def skipped(self) -> set[str]:
        """Return the functions that were reached in modules that were never read."""
        return {name for path, name in self.skipped_calls if not self.is_read(path)}

    def reasons(self, function: Function) -> list[str]:
        """Return why calls of `function` were not followed, each reason once."""
        return list(self._reasons.get(id(function.code), ()))

    def is_active(self, function: Function) -> bool:
        """Return whether the function is being read."""
        return any(code == id(function.code) for code, *_ in self._active)

    def enter(self, function: Function, args: Arguments) -> None:
        """Make the function one that is being read, until `leave`."""
        self.called.add(id(function.code))
        self._active.append(code_of_call(function, args))

    def leave(self) -> None:
        """End the reading of the function that was entered last."""
        self._active.pop()

    @contextmanager
    def guessing(self) -> Iterator[None]:
        """Read a function only for what it sets: what it calls on the way may still be a root."""
        before, self.called = self.called, set()  # only between roots is it asked for what is in it
        try:
            yield
        finally:
            self.called = before

    @contextmanager
    def guarded(self, what: str) -> Iterator[None]:
        """Let a fault of the reader's own cost one root, never the run, and report it."""
        try:
            yield
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{os.path.basename(last.filename)}:{last.lineno}"
            text = f"{type(error).__name__}: {error}"
            self.failures.append(ReadingFailure(what, text, place))

    # Identity

    def known(self, value: Value) -> None:
        """Remember that what calls this function was seen: it is no root."""
        functions = filter(None, map(function_of, value.options))
        self.called.update(id(function.code) for function in functions)

    def variable(
        self,
        name: str,
        sort: str,
        site: Site,
        context: Context,
        named: Hashable | None = None,
        *,
        reuse: bool = False,
    ) -> Variable:
        """Return the variable that the call at `site` makes on this call chain.

        With `reuse` it is the one that was made before as `named`, if there is one.
        """
        chain = tuple(call.site for call in context.call_chain)
        key = (site, chain, context.scopes.rounds, sort)
        if key not in self._variables:
            before = self._variables.get(named) if reuse else None
            self._variables[key] = before or Variable(name, sort, site, context)
            if named is not None:
                self._variables[named] = self._variables[key]
        return self._variables[key]

    def only_variable(self, name: str, sort: str) -> Variable:
        """Return the variable of which a program has one, whoever makes it."""
        return self._variables.setdefault((name, sort), Variable(name, sort, None, None))

    def generic_instance(self, cls: Class) -> Instance:
        """Return the object that represents any instance of `cls`, where methods are roots."""
        return self._generic.setdefault(id(cls), Instance(cls, None, None))

    def note_made(self, instance: Instance) -> None:
        """Keep the first objects of a class that are made in different places."""
        for base in mro(instance.cls):
            instances = self._made.setdefault(id(base), [])
            sites = [other.site for other in instances]
            if len(sites) < MAX_MADE and instance.site not in sites:
                instances.append(instance)

    def made(self, cls: Class) -> list[Instance]:
        """Return objects of the class or of derived ones, those of the class itself first."""
        return sorted(self._made.get(id(cls), ()), key=lambda instance: instance.cls is not cls)
