"""One call of a function (or one run of a module's body) while it is being read."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from tpulint.analysis.domain.context import Scope
from tpulint.analysis.domain.events import Argument, Context, Variable
from tpulint.analysis.domain.objects import Env, Function
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import UNKNOWN, External, Value, join
from tpulint.knowledge import seam

if TYPE_CHECKING:
    from tpulint.analysis.domain.site import Module
    from tpulint.analysis.interpreter.interpreter import Interpreter

BUILTINS = frozenset(dir(builtins))


def christen(value: Value, name: str) -> None:
    """A variable that was made without a name goes by the first one it is bound to."""
    if isinstance(value, Variable) and value.name in seam.VARIABLE_MAKERS:
        value.name = name


class Frame:
    """Names, place and results of one call. `context` moves as blocks are entered and left."""

    def __init__(
        self,
        interpreter: Interpreter,
        module: Module,
        env: Env,
        context: Context,
        function: Function | None = None,
    ) -> None:
        self.session = interpreter
        self.module = module
        self.env = env
        self.context = context
        self.function = function
        self.returns: list[Value] = []
        self.yields: list[tuple[Value, tuple[Scope, ...]]] = []
        self.statement: Any = []  # what is being read
        self.jumps: list[dict[str, Value]] = []  # the names at each `break` and `continue`
        self.caller: Frame | None = None
        self.call_site: Site | None = None
        self.given: dict[str, Argument] = {}

    def site(self, place: int) -> Site:
        """The site at `place`; in an f-string there is none, and its statement's is taken."""
        if place < 0:
            place = self.session.place_of(self.statement)
        return self.module.site(place)

    def naming(self, argument: Argument, site: Site) -> tuple[Site, Argument]:
        """The call that names what `argument` stands for, out through parameters to a caller.

        A forwarding wrapper is not where a fault of the forwarded function is mended.
        """
        frame: Frame | None = self
        while frame is not None and argument.node and argument.node[0] == "name":
            given = frame.given.get(str(argument.node[2]))
            if given is None or frame.call_site is None:
                break
            site, argument, frame = frame.call_site, given, frame.caller
        return site, argument

    def lookup(self, name: str) -> Value:
        """What `name` stands for here, by Python's scoping."""
        env: Env | None = self.env
        while env is not None:
            found = env.names.get(name)
            if found is not None:
                return self.session.looked_up(found, self)
            env = env.outer
        starred = self.session.module_name(self.module, name)
        if starred is not None:
            return self.session.looked_up(starred, self)
        return self.builtin(name)

    def builtin(self, name: str) -> Value:
        return External(f"builtins.{name}") if name in BUILTINS else UNKNOWN

    def store(self, name: str, value: Value) -> None:
        """Bind `name` where Python would; under a condition in an outer scope, perhaps."""
        christen(value, name)
        if self.function is None or name in self.function.code.local_names:
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
