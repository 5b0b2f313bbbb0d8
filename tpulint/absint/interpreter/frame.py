"""One call of a function (or one run of a module's body) while it is being read."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from tpulint.absint.domain.context import ConditionKey, Scope, ScopeStack
from tpulint.absint.domain.events import Argument, Arguments, Computation, Context
from tpulint.absint.domain.objects import Class, Env, ExternalObject, Function, Instance
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.values import UNKNOWN, Bound, External, Imported, Value, join
from tpulint.absint.interpreter.module_linking import Importer
from tpulint.absint.interpreter.session import Session
from tpulint.absint.resolver.project import Project
from tpulint.syntax.nodes import Block, Expression, Name, Pass, Statement, place_of

BUILTINS = {name: External(f"builtins.{name}") for name in dir(builtins)}
Options = tuple[tuple[str, Value], ...]


class Entered:
    """A context that holds in a `with` block; `end` is the one that the block ended in."""

    __slots__ = ("_before", "_frame", "end")

    def __init__(self, frame: Frame, context: Context) -> None:
        self._frame = frame
        self._before = frame.context
        self.end = context

    def __enter__(self) -> Entered:
        self._frame.context = self.end
        return self

    def __exit__(self, *_: object) -> None:
        self.end = self._frame.context
        self._frame.context = self._before


class Library:
    """What a front end knows of the libraries that a program uses; this one knows none.

    A front end derives from it. The interpreter asks it wherever a library gives Python code a
    meaning of its own, and knows no library itself.
    """

    # The roots of its packages.
    packages: frozenset[str] = frozenset()
    # Reading begins in functions that mention one of these.
    entry_names: frozenset[str] = frozenset()
    # Attributes that ask what is open while device code is built.
    context_queries: frozenset[str] = frozenset()
    # The last names of calls that take a tensor without reading it.
    passing_calls: frozenset[str] = frozenset()
    # Errors that tell of the world outside (the input's end, a lost machine), not of the program.
    outer_errors: frozenset[str] = frozenset()
    # The last names of calls that make the data of a feed, or read its records.
    feed_calls: frozenset[str] = frozenset()
    traced_function = "a traced function"  # what `explain` calls one

    @property
    def parts(self) -> tuple[Library, ...]:
        """The libraries that this one consists of."""
        return (self,)

    def base_of_class(self, base: str) -> str:
        """Return where a class in the module `base` is defined, which that may only repeat."""
        return base

    # Calls

    def wrapper(self, named: str, callee: Value) -> External | None:
        """Return what a configured wrapper stands for, where one is called."""
        return None

    def call(
        self, frame: Frame, callee: External, receiver: Value | None, args: Arguments, site: Site
    ) -> Value:
        """Return the result of calling a function or method by its dotted name."""
        return UNKNOWN

    def call_object(
        self, frame: Frame, callee: ExternalObject, args: Arguments, site: Site
    ) -> Value:
        """Return the result of calling an object of an outside class."""
        return UNKNOWN

    def call_unknown(
        self, frame: Frame, callee: Value, args: Arguments, site: Site, named: str
    ) -> Value:
        """Return the result of calling something that is not seen."""
        return UNKNOWN

    def call_instance(self, frame: Frame, callee: Instance, args: Arguments, site: Site) -> Value:
        """Return the result of calling an object of the project whose class has no `__call__`."""
        return self.call_unknown(frame, callee, args, site, "")

    def note_method_call(
        self, frame: Frame, method: Function, receiver: Instance, args: Arguments, site: Site
    ) -> None:
        """Note that a method of a class of the project is called."""

    def callees(self, context: Context, callees: list[Value], args: Arguments) -> list[Value]:
        """Return those of several callees that a program on the device may mean."""
        return callees

    def condition_of_call(self, callee: Value) -> ConditionKey | None:
        """Return the test that is true where this one of several callees is called."""
        return None

    # Values and names

    def bind(self, value: Value, name: str) -> None:
        """Note that `value` is bound to `name`."""

    def element(self, iterated: ExternalObject) -> Value:
        """Return what a loop over an object of the library gives."""
        return UNKNOWN

    def item(self, frame: Frame, base: Bound, site: Site) -> Value:
        """Return an item of `base`, an attribute of an object of which nothing else is known."""
        frame.count_possible_operation()
        return UNKNOWN

    def attribute(self, frame: Frame, base: Value, name: str, site: Site) -> Value | None:
        """Return `base.name`; None where Python's own lookup says what it is."""
        return None

    def members(self, value: External) -> frozenset[str]:
        """Return the names of all members of the enumeration that `value` is a member of."""
        return frozenset()

    def is_in_program(self, context: Context) -> bool:
        """Return whether what is called at `context` is part of what the device's program runs."""
        return False

    def scope_owner(self, value: object) -> str | None:
        """Return the kind of what entered a scope, where it matters which of several did."""
        return None

    def is_preferred_owner(self, value: object) -> bool:
        """Return whether of several owners of scopes this is the one that the program has."""
        return False

    def is_chosen_owner(self, value: object, context: Context) -> bool:
        """Return whether this is a preferred owner, and other runs that get here have another."""
        return False

    # Definitions

    def define(self, frame: Frame, function: Function) -> None:
        """Note that a function is defined."""

    def decorate(
        self, frame: Frame, function: Value, decorator: External, options: Options
    ) -> Value | None:
        """Return what a decorator with these options makes of a function, None if not known."""
        return None

    def may_trace(self, decorator: str) -> bool:
        """Return whether an unseen decorator of this name may trace the function."""
        return False

    def instantiate(self, frame: Frame, cls: Class, args: Arguments, site: Site) -> Value | None:
        """Return the object of a class that stands for a library's own, else None."""
        return None

    def initialize(self, frame: Frame, instance: Instance, args: Arguments, site: Site) -> None:
        """Read the `__init__` that an object of the project inherits from a library's class."""

    # Branches and modules

    def device_answer(self, test: Expression) -> bool | None:
        """Return what a test gives in code for the device; None where it asks something else."""
        return None

    def is_host_only(self, computation: Computation, test: Value) -> bool:
        """Return whether the callee of `computation` runs on the host where `test` is true."""
        return False

    def answer_of_run(self, computation: Computation, key: ConditionKey) -> bool | None:
        """Return what a test gives in each run that gets to `computation`; None if either."""
        return None

    def guess_of_branch(
        self, computation: Computation, key: ConditionKey, test: Value, branch: bool
    ) -> ConditionKey | None:
        """Return the guess that a branch in device code depends on."""
        return None

    def follows(self, project: Project, path: str, asking: Importer | None) -> bool:
        """Return whether the module at `path` is read where `asking` imports it."""
        return True

    def holds(self, path: str, name: str) -> bool:
        """Return whether a module that is not read is known to hold the name."""
        return False

    def starred(self, path: str, name: str) -> External:
        """Return what `name` is after `from path import *`, where that module is not read."""
        return External(f"{path}.{name}")

    def is_generated(self, project: Project, path: str) -> bool:
        """Return whether the module at `path` holds nothing that runs, and is never read."""
        return False


class Libraries(Library):
    """The libraries of several front ends, in one program.

    The first one that knows more than nothing answers. A function of one of them is its own.
    """

    def __init__(self, parts: Sequence[Library]) -> None:
        self._parts = tuple(parts)
        for name, names in vars(Library).items():
            if isinstance(names, frozenset):  # what the libraries of a program know together
                setattr(self, name, names.union(*(getattr(part, name) for part in parts)))
        for name in HOOKS:
            setattr(self, name, partial(self._ask, name))

    @property
    def parts(self) -> tuple[Library, ...]:
        return self._parts

    def _ask(self, hook: str, *arguments: object) -> object:
        """Return the first answer to `hook` that is not that of a library which knows nothing."""
        nothing = getattr(Library, hook)(self, *arguments)
        answers = (getattr(part, hook)(*arguments) for part in self._parts)
        return next((answer for answer in answers if answer != nothing), nothing)

    def call(
        self, frame: Frame, callee: External, receiver: Value | None, args: Arguments, site: Site
    ) -> Value:
        root = callee.path.partition(".")[0]
        owner = next((part for part in self._parts if root in part.packages), self._parts[0])
        return owner.call(frame, callee, receiver, args, site)

    def callees(self, context: Context, callees: list[Value], args: Arguments) -> list[Value]:
        for part in self._parts:
            callees = part.callees(context, callees, args)
        return callees

    def follows(self, project: Project, path: str, asking: Importer | None) -> bool:
        return any(part.follows(project, path, asking) for part in self._parts)


# The questions of which one library knows the answer: the others have one of their own above.
HOOKS = [
    name
    for name, hook in vars(Library).items()
    if callable(hook) and not name.startswith("_") and name not in vars(Libraries)
]


def combine(libraries: Sequence[Library]) -> Library:
    """Return the libraries as one."""
    return libraries[0] if len(libraries) == 1 else Libraries(libraries)


@dataclass(eq=False, repr=False)
class Frame(ABC):
    """Names, context and results of one call.

    The context moves as scopes are entered (`with frame.within(scope):`) and as the paths
    of branches join; it is changed nowhere but here and in `Entered`.
    """

    session: Session
    library: Library
    module: Module
    env: Env
    context: Context
    function: Function | None = None
    returns: list[Value] = field(default_factory=list)
    yields: list[tuple[Value, tuple[Scope, ...]]] = field(default_factory=list)
    statement: Statement = field(default_factory=Pass)  # the one that is being read
    # The names at each `break` and `continue`.
    jumps: list[dict[str, Value]] = field(default_factory=list)
    caller: Frame | None = None
    call_site: Site | None = None
    given: dict[str, Argument] = field(default_factory=dict)
    observer: Observer | None = None

    # Evaluation: expressions, statements and calls reach one another through the frame

    @abstractmethod
    def value(self, node: Expression) -> Value:
        """Return what an expression stands for."""

    @abstractmethod
    def block(self, body: Block) -> bool:
        """Read statements; return True when what follows them is never reached."""

    @abstractmethod
    def assign(self, target: Expression, item: Value) -> None:
        """Bind a target (a name, attribute, item or nest of them) to `item`."""

    def inner(
        self, module: Module, env: Env, context: Context, function: Function | None = None
    ) -> Frame:
        """Return a new frame of the same reading."""
        session, library, observer = self.session, self.library, self.observer
        return type(self)(session, library, module, env, context, function, observer=observer)

    # Context

    @property
    def recorded(self) -> Computation | None:
        """The computation that is being built and recorded here."""
        return None if self.context.is_unrecorded else self.context.computation

    def at(self, context: Context) -> Entered:
        return Entered(self, context)

    def within(self, scope: Scope) -> Entered:
        return Entered(self, self.context.inside(scope))

    def when(self, key: ConditionKey, branch: object) -> Entered:
        return Entered(self, self.context.when(key, branch))

    def without_recording(self) -> Entered:
        """Enter the same context with nothing recorded."""
        return Entered(self, self.context.without_recording())

    def open(self, *scopes: Scope) -> None:
        """Enter scopes that stay open until the enclosing `scopes_closed` block ends."""
        self.context = self.context.with_scopes(self.context.scopes.and_inside(*scopes))

    def close(self, payload: object) -> None:
        """Close the scopes of what was entered by hand."""
        left = [scope for scope in self.context.scopes if scope.payload is not payload]
        self.context = self.context.with_scopes(ScopeStack().and_inside(*left))

    @contextmanager
    def scopes_closed(self) -> Iterator[None]:
        """Close at the end of the block what was opened in it; conditions stay."""
        scopes = self.context.scopes
        try:
            yield
        finally:
            if self.context.scopes is not scopes:
                self.context = self.context.with_scopes(scopes)

    def assume(self, key: ConditionKey, branch: object) -> None:
        """Reach what follows only under a condition."""
        self.context = self.context.when(key, branch)

    def resume(self, context: Context) -> None:
        """Go on in `context`, where a branch ended: what follows is reached by it alone."""
        self.context = context

    @property
    def exit_count(self) -> int:
        """The number of ways that lead on from what was read, without an error."""
        return len(self.returns) + len(self.jumps)

    # Budgets

    def can_enter(self, function: Function, args: Arguments, site: Site) -> bool:
        """Return whether there is budget to read `function`, which is called at `site`."""
        # What a computation runs, the host may have called before: to put a model together.
        built = self.context.computation is not None
        part: object = built or self.context.scopes.fed_at
        if not part and not self.library.feed_calls.isdisjoint(function.code.inside.mentioned):
            # It makes data: scripts look at some before they feed it.
            part = Site(function.module, function.code.place)
        may = self.session.can_enter(function, args, site, part)
        if not may:
            self.count_possible_operation()
        if self.observer is not None:
            self.observer.called(self, function, may)
        return may

    def count_possible_operation(self) -> None:
        """Count something that builds an operation, or may build one unseen."""
        if not self.context.is_unrecorded:
            self.session.operations += 1

    # Places and names

    def site(self, place: int) -> Site:
        """Return the site at `place`; in an f-string there is none: its statement's is taken."""
        if place < 0:
            place = place_of(self.statement)
        return self.module.sites.get(place) or self.module.site(place)

    def resolve_forwarded_argument(self, argument: Argument, site: Site) -> tuple[Site, Argument]:
        """Return the call that names what `argument` stands for, out through parameters.

        A fault of a forwarded function is fixed where it is named, not in the forwarding wrapper.
        """
        frame: Frame | None = self
        while frame is not None and isinstance(argument.node, Name):
            bound_argument = frame.given.get(argument.node.id)
            if bound_argument is None or frame.call_site is None:
                break
            site, argument, frame = frame.call_site, bound_argument, frame.caller
        return site, argument

    def lookup(self, name: str) -> Value:
        """Return what `name` stands for here, by Python's scoping."""
        env: Env | None = self.env
        while env is not None:
            value = env.names.get(name)
            if value is not None:
                is_import = isinstance(value, Imported)
                return self.session.looked_up(value, self) if is_import else value
            env = env.outer
        starred = self.session.module_name(self.module, name)
        if starred is not None:
            return self.session.looked_up(starred, self)
        return BUILTINS.get(name, UNKNOWN)

    def store(self, name: str, value: Value) -> None:
        """Bind `name` where Python would; under a condition in an outer scope, perhaps."""
        self.library.bind(value, name)
        if self.function is None or name in self.function.code.inside.local_names:
            self.env.names[name] = value
            return
        env = self.env.outer
        while env is not None and name not in env.names:
            env = env.outer
        holder = env or self.session.module_env(self.module)
        before = holder.names.get(name)
        if before is not None and not self.context.runs_once_with(None):
            value = join([before, value])
        holder.names[name] = value


class Observer(Protocol):
    """A receiver of what a program's frames do, in their order."""

    def called(self, frame: Frame, function: Function, followed: bool) -> None:
        """Note that `frame` calls a function of the project, which may be left out."""

    def read(self, frame: Frame, statement: Statement, context: Context) -> None:
        """Note that `frame` has read a statement, which began in `context`."""
