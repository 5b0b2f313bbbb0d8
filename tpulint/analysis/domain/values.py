"""Abstract values: what a name can stand for while the program is read, not run.

Identity matters more than content: two lanes touch the same variable when they
reach the same `Variable` object. `Choice` holds alternatives (branches, loops);
`UNKNOWN` is an honest answer and no rule builds a certain finding on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tpulint.analysis.domain.context import Context
    from tpulint.analysis.domain.program import Argument, Cluster, Site
    from tpulint.analysis.resolver.module import Module
    from tpulint.syntax import ir

CHOICES = 6
EQUALS = " == "
NOT = "not "


class Value:
    """Anything that a name can stand for."""

    __slots__ = ()


class _Unknown(Value):
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()


@dataclass(frozen=True)
class Const(Value):
    """A Python constant: None, bool, int, float or str."""

    value: Any


NONE = Const(None)


@dataclass(frozen=True)
class Text(Value):
    """A string of which the first part is known: `"grpc://" + address`."""

    starts: str


@dataclass(frozen=True)
class ContextQuery(Value):
    """What a question about the TPU context of the graph gives: `name` is what was asked."""

    name: str


@dataclass(eq=False)
class Opaque(Value):
    """Something unknown that keeps its identity: a parameter of a root, an attribute of one.

    `path` reads as in the source (`params.strategy`); `children` are its attributes.
    """

    path: str
    children: dict[str, Value] = field(default_factory=dict)
    parent: Opaque | None = None

    @property
    def last(self) -> str:
        return self.path.rpartition(".")[2]

    def child(self, name: str, path: str) -> Value:
        """The attribute or item `name`, the same each time."""
        return self.children.setdefault(name, Opaque(path, {}, self))

    def equal_to(self, other: str) -> Value:
        """The answer to `this == other`, the same each time."""
        return self.child(f"{EQUALS}{other}", f"{self.path}{EQUALS}{other}")

    def negated(self) -> Value:
        """The answer to `not this`, the same each time."""
        return self.child(NOT, f"{NOT}{self.path}")

    @property
    def negates(self) -> Opaque | None:
        """What this is the opposite of."""
        return self.parent if self.path.startswith(NOT) else None

    def contradicts(self, other: Opaque) -> bool:
        """Whether two comparisons cannot both be true: of one thing with two constants."""
        both = EQUALS in self.path and EQUALS in other.path
        return both and self.parent is other.parent and self.path != other.path


@dataclass(frozen=True)
class External(Value):
    """A dotted name of something that is not in the project, imports resolved."""

    path: str

    @property
    def last(self) -> str:
        return self.path.rpartition(".")[2]


@dataclass(frozen=True)
class DeferredName(External):
    """A name of a project's module that was passed by; `base` can still be read."""

    base: ModuleValue
    name: str


@dataclass(eq=False)
class Env:
    """The names of a function call or of a module body; `outer` is the enclosing one."""

    names: dict[str, Value]
    outer: Env | None = None
    function: Any = None


@dataclass(eq=False)
class Function(Value):
    """A function of the project with the names it closes over."""

    code: ir.Function
    module: Module
    env: Env | None
    owner: Class | None = None
    traced: bool = False  # decorated with, or wrapped in, tf.function
    hints: frozenset[str] = frozenset()  # what transparent decorators say of it
    defaults: dict[str, Value] = field(default_factory=dict)  # those that were names then

    @property
    def name(self) -> str:
        return self.code.name


@dataclass(frozen=True)
class Bound(Value):
    """`function` with its first argument given: a bound method."""

    function: Value
    receiver: Value


@dataclass(frozen=True)
class Partial(Value):
    """`functools.partial(function, *args, **kwargs)`."""

    function: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]


@dataclass(eq=False)
class Class(Value):
    """A class of the project."""

    code: ir.Class
    module: Module
    env: Env | None
    bases: tuple[Value, ...]
    names: dict[str, Value]


@dataclass(eq=False)
class Instance(Value):
    """An object of a project class; `attributes` is shared by all who hold it."""

    cls: Class
    site: Site | None
    context: Context | None
    attributes: dict[str, Value] = field(default_factory=dict)
    attempted: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Super(Value):
    """`super()` in a method of `owner`."""

    instance: Value
    owner: Class


@dataclass(eq=False)
class ExternalObject(Value):
    """The result of calling something external: a layer, an optimizer, a dataset.

    source, inner: what a dataset's method was called on, what the function given to it gives.
    callee, given: who was called with what, where a module was passed by."""

    path: str
    site: Site
    context: Context
    attributes: dict[str, Value] = field(default_factory=dict)
    arguments: tuple[tuple[str | None, Value], ...] = ()
    source: Value | None = None
    inner: Value | None = None
    callee: DeferredName | None = None
    given: tuple[Argument, ...] = ()

    @property
    def last(self) -> str:
        return self.path.rpartition(".")[2]


@dataclass(frozen=True)
class ModuleValue(Value):
    """A module of the project, by its file; `dotted` is what the import called it."""

    path: str
    dotted: str


@dataclass(frozen=True)
class Imported(Value):
    """A name imported from a project's module, looked up when it is used."""

    path: str
    dotted: str
    name: str


@dataclass(eq=False)
class Sequence(Value):
    """A list or tuple; `open` when there may be items that are not known. `made`: where."""

    kind: str
    items: list[Value]
    open: bool = False
    site: Site | None = None
    made: Context | None = None


@dataclass(eq=False)
class Mapping(Value):
    """A dict; `open`: it may hold other `keys`; `perhaps`: may lack these; `set_at`: set later."""

    items: dict[Any, Value]
    open: bool = False
    site: Site | None = None
    keys: list[Value] = field(default_factory=list)
    set_at: dict[Any, Context] = field(default_factory=dict)
    made: Context | None = None
    perhaps: set[Any] = field(default_factory=set)


@dataclass(eq=False)
class Strategy(Value):
    """A distribution strategy: `kind` is "tpu", "other" or "unknown"; `resolver` names a TPU."""

    kind: str
    site: Site | None
    path: str = ""
    resolver: Value = NONE


@dataclass(eq=False)
class Variable(Value):
    """State that outlives a step: tf.Variable, table, queue, the global step, a layer's weights.

    `strategy` is the strategy whose scope it was created under, `made` where.
    `sort` is "variable", "step", "table", "queue", "section" or "weights". `assumed`:
    only the methods called on it say that it is a variable. `whole`: the weights of which it is
    one, as `layer.kernel` is.
    """

    name: str
    sort: str
    site: Site | None
    made: Context | None
    strategy: Strategy | None = None
    assumed: bool = False
    whole: Variable | None = None


@dataclass(eq=False)
class Tensor(Value):
    """The result of an operation that was built while the program was read.

    made: where it was built. Facts flow: the `clusters` it went through, `per_replica`
    (depends on the computation's inputs), `replica_id`, `computed` (a device's operation
    made it: who takes it is no head cluster), `uniform` (surely equal on all replicas),
    `data` (known at run time only). `dtype` and `shape` are known where literals give them;
    a dimension that is None is dynamic or not seen. `starts`: how a string surely begins.
    """

    made: Context | None
    site: Site | None
    sort: str = "tensor"  # or "operation", "structure", "unseen" (an unknown callee's result)
    clusters: frozenset[Cluster] = frozenset()
    per_replica: bool = False
    replica_id: bool = False
    computed: bool = False
    uniform: bool = False
    result_of: Cluster | None = None
    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None
    starts: str | None = None
    data: bool = False


@dataclass(eq=False)
class ContextManagerValue(Value):
    """A context manager object: what entering it means."""

    effect: str
    site: Site
    payload: Value = UNKNOWN
    entered: int = 0


@dataclass(frozen=True)
class Choice(Value):
    """One of several values; it depends on what the analysis cannot see."""

    options: tuple[Value, ...]


def options(value: Value) -> tuple[Value, ...]:
    return value.options if isinstance(value, Choice) else (value,)


def join(values: Iterable[Value]) -> Value:
    """The value that is one of `values`; UNKNOWN beyond `CHOICES` alternatives."""
    found: list[Value] = []
    for option in (each for value in values for each in options(value)):
        if not any(_same(option, known) for known in found):
            found.append(option)
    if len(found) == 1:
        return found[0]
    return Choice(tuple(found)) if 1 < len(found) <= CHOICES else UNKNOWN


def _same(left: Value, right: Value) -> bool:
    if left is right:
        return True
    if isinstance(left, Const) and isinstance(right, Const):
        return type(left.value) is type(right.value) and left.value == right.value
    return isinstance(left, (External, Bound, Text)) and left == right
