"""One call of a function (or one run of a module's body) while it is being read."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from typing import Protocol, TypeVar

from tpulint.analysis.domain.context import ConditionKey, Scope
from tpulint.analysis.domain.events import Argument, Context, Variable
from tpulint.analysis.domain.objects import Env, ExternalObject, Function
from tpulint.analysis.domain.site import Module, Site
from tpulint.analysis.domain.values import UNKNOWN, External, Imported, Value, join
from tpulint.analysis.interpreter.entered import Entered, Scoped
from tpulint.analysis.interpreter.session import Session
from tpulint.knowledge import seam
from tpulint.syntax.expression_nodes import Name
from tpulint.syntax.nodes import Block, Expression, Statement
from tpulint.syntax.places import place_of
from tpulint.syntax.statement_nodes import Pass

BUILTINS = {name: External(f"builtins.{name}") for name in dir(builtins)}
NOTHING_READ = Pass()
F = TypeVar("F", bound="Frame")


def christen(value: Value, name: str) -> None:
    """Name a variable that was made without a name by the first one it is bound to."""
    if isinstance(value, Variable) and value.name in seam.VARIABLE_MAKERS:
        value.name = name


class Library(Protocol):
    """The models of calls that leave the project."""

    def wrapper(self, named: str, callee: Value) -> External | None:
        """Return what a configured wrapper stands for, where one is called."""

    def call(
        self,
        frame: Frame,
        callee: External,
        receiver: Value | None,
        args: tuple[Argument, ...],
        site: Site,
    ) -> Value:
        """Return the result of calling a function or method by its dotted name."""

    def call_object(
        self, frame: Frame, callee: ExternalObject, args: tuple[Argument, ...], site: Site
    ) -> Value:
        """Return the result of calling an object of an outside class."""

    def call_unknown(
        self, frame: Frame, callee: Value, args: tuple[Argument, ...], site: Site, named: str
    ) -> Value:
        """Return the result of calling something that is not seen."""


class Frame(ABC):
    """Names, context and results of one call.

    The context moves as scopes are entered (`with frame.within(scope):`) and as the paths
    of branches join; it is changed nowhere but here and in `entered`.
    """

    def __init__(
        self,
        session: Session,
        library: Library,
        module: Module,
        env: Env,
        context: Context,
        function: Function | None = None,
    ) -> None:
        self.session = session
        self.library = library
        self.module = module
        self.env = env
        self.context = context
        self.function = function
        self.returns: list[Value] = []
        self.yields: list[tuple[Value, tuple[Scope, ...]]] = []
        self.statement: Statement = NOTHING_READ  # the one that is being read
        self.jumps: list[dict[str, Value]] = []  # the names at each `break` and `continue`
        self.caller: Frame | None = None
        self.call_site: Site | None = None
        self.given: dict[str, Argument] = {}

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
        self: F, module: Module, env: Env, context: Context, function: Function | None = None
    ) -> F:
        """Return a new frame of the same reading."""
        return type(self)(self.session, self.library, module, env, context, function)

    # Context

    def at(self, context: Context) -> Entered:
        return Entered(self, context)

    def within(self, scope: Scope) -> Entered:
        return Entered(self, self.context.inside(scope))

    def when(self, key: ConditionKey, branch: object) -> Entered:
        return Entered(self, self.context.when(key, branch))

    def muted(self) -> Entered:
        """Enter the same context with nothing recorded."""
        return Entered(self, self.context.quietly())

    def open(self, *scopes: Scope) -> None:
        """Enter scopes that stay open until the enclosing `scopes_closed` block ends."""
        self.context = self.context._replace(scopes=self.context.scopes.and_inside(*scopes))

    def scopes_closed(self) -> Scoped:
        """Close at the end of the block what was opened in it; conditions stay."""
        return Scoped(self)

    def assume(self, key: ConditionKey, branch: object) -> None:
        """Reach what follows only under a condition."""
        self.context = self.context.when(key, branch)

    def resume(self, context: Context) -> None:
        """Go on in `context`, where a branch ended: what follows is reached by it alone."""
        self.context = context

    @property
    def ways_out(self) -> int:
        """The number of ways that lead on from what was read, without an error."""
        return len(self.returns) + len(self.jumps)

    # Budgets

    def may_enter(self, function: Function, args: tuple[Argument, ...], site: Site) -> bool:
        """Return whether there is budget to read `function`, which is called at `site`."""
        may = self.session.may_enter(function, args, site)
        if not may:
            self.may_build()
        return may

    def may_build(self) -> None:
        """Count something that builds an operation, or may build one unseen."""
        if not self.context.muted:
            self.session.operations += 1

    # Places and names

    def site(self, place: int) -> Site:
        """Return the site at `place`; in an f-string there is none: its statement's is taken."""
        if place < 0:
            place = place_of(self.statement)
        return self.module.sites.get(place) or self.module.site(place)

    def naming(self, argument: Argument, site: Site) -> tuple[Site, Argument]:
        """Return the call that names what `argument` stands for, out through parameters.

        A fault of a forwarded function is fixed where it is named, not in the forwarding wrapper.
        """
        frame: Frame | None = self
        while frame is not None and isinstance(argument.node, Name):
            given = frame.given.get(argument.node.id)
            if given is None or frame.call_site is None:
                break
            site, argument, frame = frame.call_site, given, frame.caller
        return site, argument

    def lookup(self, name: str) -> Value:
        """Return what `name` stands for here, by Python's scoping."""
        env: Env | None = self.env
        while env is not None:
            found = env.names.get(name)
            if found is not None:
                is_import = isinstance(found, Imported)
                return self.session.looked_up(found, self) if is_import else found
            env = env.outer
        starred = self.session.module_name(self.module, name)
        if starred is not None:
            return self.session.looked_up(starred, self)
        return self.builtin(name)

    def builtin(self, name: str) -> Value:
        return BUILTINS.get(name, UNKNOWN)

    def store(self, name: str, value: Value) -> None:
        """Bind `name` where Python would; under a condition in an outer scope, perhaps."""
        christen(value, name)
        if self.function is None or name in self.function.code.inside.bound:
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
