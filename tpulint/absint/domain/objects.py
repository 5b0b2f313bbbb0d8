"""Values with an identity: functions, classes, instances, containers, outside objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar, NamedTuple
from weakref import ReferenceType, ref

from tpulint.absint.domain import values
from tpulint.absint.domain.context import ConditionKey
from tpulint.absint.domain.events import Arguments, Context
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.values import UNKNOWN, External, Value, frozen
from tpulint.ordering import reachable
from tpulint.syntax import ir

MAX_STRUCTURE_SIZE = 4096


class Sized(Value):
    """A structure that knows its size, and the structures that it is in: it can grow later.

    Everything is at most `MAX_STRUCTURE_SIZE`, and nothing contains itself.
    """

    __slots__ = ("__weakref__", "holders", "size")

    size: int
    holders: list[ReferenceType[Sized]]

    def start_size(self) -> None:
        """Count what holds the items of a new structure, which nothing holds yet."""
        self.size = 1
        self.holders = []

    def take(self, items: Iterable[Value], instead: Value | None = None) -> bool:
        """Return whether there is room for `items`, and count them; all of them, or none.

        instead: the item that they replace.
        """
        amount = 0 if instead is None else -size_of(instead)
        inside: list[Sized] = []
        for item in items:
            if isinstance(item, Sized):
                inside.append(item)
                amount += item.size
            elif isinstance(item, values.Choice):
                inside += [option for option in item.options if isinstance(option, Sized)]
                amount += size_of(item)
            else:
                amount += 1
        if not (self.holders or inside):  # most are new, and hold no other
            if self.size + amount > MAX_STRUCTURE_SIZE:
                return False
            self.size += amount
            return True
        around = self._around() if self.holders else {self: 1}
        if around is None or any(structure in around for structure in inside):
            return False
        for structure, times in around.items():
            if structure.size + amount * times > MAX_STRUCTURE_SIZE:
                return False
        for structure, times in around.items():
            structure.size += amount * times
        for structure in inside:
            structure.holders.append(ref(self))
        return True

    def _around(self) -> dict[Sized, int] | None:
        """Return this and all that it is in, with how often it is; None where that is too much."""
        structures = [self]
        for structure in structures:  # it grows meanwhile
            if structure.holders:
                structures += [
                    holder for reference in structure.holders if (holder := reference()) is not None
                ]
            if len(structures) > MAX_STRUCTURE_SIZE:
                return None
        return Counter(structures)


def size_of(value: Value) -> int:
    """Return how many values a walk over this one comes by."""
    if isinstance(value, Sized):
        return value.size
    alternatives = value.options
    return 1 if alternatives[0] is value else 1 + sum(map(size_of, alternatives))


def without_structures(items: Iterable[Value]) -> list[Value]:
    """Return the items, those that are structures, or may be, unknown."""
    return [UNKNOWN if size_of(item) > 1 or isinstance(item, Sized) else item for item in items]


RENAMED = "another `__name__` than its code"  # a hint of a function
MAX_SHOWN_ITEMS = 4  # items of a container in its repr


@dataclass(eq=False, slots=True)
class Env:
    """The names of a function call or of a module body; `outer` is the enclosing one."""

    names: dict[str, Value]
    outer: Env | None = None
    function: Any = None


AS_WRITTEN = "as written"  # the hint that all decorators are seen to return the function itself


@dataclass(eq=False, repr=False, slots=True)
class Function(Value):
    """A function of the project with the names it closes over."""

    shown = "function {0.name}"
    is_callee = True
    is_true: ClassVar[bool] = True
    code: ir.FunctionCode
    module: Module
    env: Env | None
    owner: Class | None = None
    traced: bool = False  # decorated with, or wrapped in, what traces it
    hints: frozenset[str] = frozenset()  # what transparent decorators say of it
    defaults: dict[str, Value] = field(default_factory=dict)  # those that were names then

    @property
    def name(self) -> str:
        return self.code.name


class TracedCall(NamedTuple):
    """A call of a traced `function`; `conditions` are those under which it is called."""

    function: Function
    conditions: frozenset[tuple[ConditionKey, object]]


@dataclass(eq=False, repr=False, slots=True)
class Class(Value):
    """A class of the project."""

    shown = "class {0.code.name}"
    is_true: ClassVar[bool] = True
    code: ir.ClassCode
    module: Module
    env: Env | None
    bases: tuple[Value, ...]
    names: dict[str, Value]
    order: ClassOrder | None = None  # see `mro`
    is_complete: bool = False  # no base is of a module that was passed by

    @property
    def outer_bases(self) -> list[External]:
        """The bases that are outside the project, in its order."""
        if not _order(self).is_outer:
            return []
        return [base for base in mro(self) if isinstance(base, External)]


@dataclass(eq=False, repr=False, slots=True)
class ClassOrder:
    """A class, or an unseen base, and those after it, which the orders of its subclasses share."""

    value: Value
    rest: ClassOrder | None = None
    length: int = field(init=False)
    is_outer: bool = field(init=False)  # an unseen base is among them
    as_list: list[Value] | None = None

    def __post_init__(self) -> None:
        self.length = 1 + (self.rest.length if self.rest else 0)
        self.is_outer = isinstance(self.value, External) or bool(self.rest and self.rest.is_outer)

    def __iter__(self) -> Iterator[Value]:
        order: ClassOrder | None = self
        while order:
            yield order.value
            order = order.rest


@dataclass(eq=False, repr=False, slots=True)
class Instance(Value):
    """An object of a project class; `attributes` is shared by all who hold it."""

    shown = "{0.cls.code.name} object"
    cls: Class
    site: Site | None
    context: Context | None
    attributes: dict[str, Value] = field(default_factory=dict)
    attempted: set[str] = field(default_factory=set)

    @property
    def is_callee(self) -> bool:
        return not self.cls.names.keys().isdisjoint(("__call__", "call"))


@dataclass(eq=False, repr=False, slots=True)
class Super(Value):
    """`super()` in a method of `owner`."""

    shown = "super() of {0.owner!r}"
    instance: Value
    owner: Class


@dataclass(eq=False, repr=False, slots=True)
class ExternalObject(Value):
    """The result of calling something external: a layer, an optimizer, a dataset.

    source, inner: what a dataset's method was called on, what the function given to it gives.
    callee, call_arguments: who was called with what, where a module was passed by; result: what
    that gives, once the module is read; whole, index: of which this is an item, if it is one.
    element: what a loop over it gives.
    """

    shown = "{0.path} object"
    is_object = True
    path: str
    site: Site
    context: Context
    attributes: dict[str, Value] = field(default_factory=dict)
    arguments: tuple[tuple[str | None, Value], ...] = ()
    source: Value | None = None
    inner: Value | None = None
    callee: values.DeferredName | None = None
    call_arguments: Arguments = ()
    element: Value | None = None
    result: Value | None = None
    whole: ExternalObject | None = None
    index: Value | None = None

    @property
    def last(self) -> str:
        return self.path.rpartition(".")[2]

    def item(self, index: Value) -> ExternalObject:
        """Return what stands for an item of what a call gives whose module was passed by."""
        return ExternalObject(
            self.path,
            self.site,
            self.context,
            callee=self.callee,
            call_arguments=self.call_arguments,
            whole=self,
            index=index,
        )

    def argument(self, keyword: str, position: int | None = None) -> Value | None:
        """Return the value of an argument of the call, None where it is not given."""
        for name, value in self.arguments:
            if name == keyword:
                return value
        plain = [value for name, value in self.arguments if name is None]
        return plain[position] if position is not None and position < len(plain) else None


@dataclass(eq=False, slots=True)
class Sequence(Sized):
    """A list or tuple; `open` when there may be items that are not known. `made`: where.

    alike: every item is a list, and at these positions all of them hold the same.
    places: of the items that it was written with, -1 where one has none.
    """

    kind: str
    items: list[Value]
    open: bool = False
    site: Site | None = None
    made: Context | None = None
    alike: frozenset[int] = frozenset()
    places: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.start_size()
        if not self.take(self.items):
            self.items = without_structures(self.items)
            if not self.take(self.items):
                self.items, self.open, self.alike, self.places = [], True, frozenset(), ()

    def add(self, item: Value) -> None:
        """Put an item at the end, as far as there is room."""
        self.extend([item])

    def add_first(self, item: Value) -> None:
        """Put an item before all others, as far as there is room."""
        before, self.items, self.places = self.items, [], ()
        self.add(item)
        self.items += before

    def extend(self, items: Iterable[Value]) -> None:
        """Put items at the end, as far as there is room."""
        listed = list(items)
        for fitting in (listed, without_structures(listed)):
            if self.take(fitting):
                self.items += fitting
                return
        self.open = True

    def __repr__(self) -> str:
        return f"{self.kind} [{listed(map(repr, self.items), self.open)}]"


@dataclass(eq=False, slots=True)
class Mapping(Sized):
    """A dict; `open`: it may hold other `keys`.

    maybe_absent: keys that it may lack. set_at: where a key was set later. dropped_at: where
    one of `maybe_absent` was taken away. places: of the items that it was written with.
    complete: none of its values is unseen.
    """

    items: dict[Any, Value]
    open: bool = False
    site: Site | None = None
    keys: list[Value] = field(default_factory=list)
    set_at: dict[Any, Context] = field(default_factory=dict)
    made: Context | None = None
    maybe_absent: set[Any] = field(default_factory=set)
    places: dict[Any, int] = field(default_factory=dict)
    complete: bool = False
    attributes: dict[str, Value] | None = None  # of the object of which this is the `__dict__`
    dropped_at: dict[Any, Context] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start_size()
        items, self.items = self.items, {}
        if len(items) > MAX_STRUCTURE_SIZE or not self.take(items.values()):
            for key, item in items.items():
                self.set(key, item)
        else:
            self.items = dict(items)

    def set(self, key: Any, item: Value) -> None:
        """Bind a key, as far as there is room."""
        before = self.items.get(key)
        for fitting in (item, UNKNOWN):
            if self.take([fitting], before):
                self.items[key] = fitting
                break
        else:
            self.open = True
            self.complete = False
        if self.attributes is not None and isinstance(key, str):
            self.attributes[key] = item

    def update(self, other: Mapping) -> None:
        """Bind the keys of `other`."""
        for key, item in list(other.items.items()):
            if key not in self.items and key in other.set_at:
                self.set_at[key] = other.set_at[key]
            self.set(key, item)
        self.maybe_absent |= other.maybe_absent
        self.open = self.open or other.open

    def remove(self, key: Any) -> None:
        """Take a key away."""
        self.items.pop(key, None)
        if self.attributes is not None:
            self.attributes.pop(key, None)

    def __repr__(self) -> str:
        pairs = (f"{key!r}: {item!r}" for key, item in self.items.items())
        return f"dict {{{listed(pairs, self.open)}}}"


@dataclass(eq=False, repr=False, slots=True)
class ContextManagerValue(Value):
    """A context manager object: what entering it means."""

    shown = "context manager ({0.effect})"
    effect: str
    site: Site
    payload: Value = UNKNOWN
    entered: int = 0


def listed(items: Iterable[str], more: bool) -> str:
    """Return the first MAX_SHOWN_ITEMS of `items`, and "..." where there are, or may be, others."""
    shown = list(islice(items, MAX_SHOWN_ITEMS + 1))
    rest = ["..."] if more or len(shown) > MAX_SHOWN_ITEMS else []
    return ", ".join([*shown[:MAX_SHOWN_ITEMS], *rest])


def made_at(value: Value | None) -> Context | None:
    """Return the context in which an object was made; None for other values."""
    return value.context if isinstance(value, (ExternalObject, Instance)) else None


def function_of(value: Value) -> Function | None:
    """Return the project's function behind a callable."""
    while isinstance(value, values.Bound):
        value = value.function
    return value if isinstance(value, Function) else None


@frozen
class TraceTimeValue(Value):
    """The result of `time.time()`, `random.random()` and their kin, or arithmetic on one.

    path: the function's dotted name. site: its call.
    """

    shown = "{0.path}() at trace time"
    path: str
    site: Site


def decorated(function: Function, cls: Class) -> Function | None:
    """Return the method of `cls` that a decorator has replaced by `function`, or None."""
    if function.owner is not None:
        return None

    def held(current: Function) -> list[Function]:
        env = current.env
        names = () if env is None or env.function is None else env.names.values()
        return [inner for inner in map(function_of, names) if inner is not None]

    methods = (inner for inner in reachable([function], held) if inner.owner is cls)
    return next(methods, None)


def mro(cls: Class) -> list[Value]:
    """Return the class and its bases, each before its own and in the order given, as Python does.

    It is found once for each class, in however many ways the class is reached.
    """
    order = _order(cls)
    if order.as_list is None:
        order.as_list = [*order]
    return order.as_list


def _order(cls: Class) -> ClassOrder:
    waiting = [cls]
    while cls.order is None:  # no recursion: classes may stand in a line of a thousand
        current = waiting[-1]
        unknown = [base for base in current.bases if isinstance(base, Class) and base.order is None]
        if unknown:
            waiting += unknown
            continue
        waiting.pop()
        if current.order is not None:
            continue
        orders = [
            _order(base) if isinstance(base, Class) else ClassOrder(base) for base in current.bases
        ]
        current.order = ClassOrder(current, _merge(orders))
    return cls.order


def _merge(orders: list[ClassOrder]) -> ClassOrder | None:
    """Return the values of the orders of all bases, each before those that follow it in any order.

    Python refuses a class without such an order; here the next value of the first base is taken.
    """
    if len(orders) < 2:
        return orders[0] if orders else None
    merged_end = _common_end(orders)
    length = merged_end.length if merged_end else 0
    rows = [[*islice(order, order.length - length)] for order in orders]
    rows.append([order.value for order in orders])
    for row in rows:
        row.reverse()  # what comes next is at the end
    later = Counter(cls for row in rows for cls in row[:-1])
    merged: dict[Value, None] = {}
    while rows:
        first = next((row[-1] for row in rows if not later[row[-1]]), rows[0][-1])
        merged[first] = None
        for row in rows:
            while row and row[-1] in merged:
                row.pop()
                if row:
                    later[row[-1]] -= 1
        rows = [row for row in rows if row]
    for value in reversed(merged):
        merged_end = ClassOrder(value, merged_end)
    return merged_end


def _common_end(orders: list[ClassOrder]) -> ClassOrder | None:
    """Return the end that all orders share after their first: in a diamond, all but the bases."""
    ends = [order.rest for order in orders]
    while None not in ends and any(end is not ends[0] for end in ends):
        longest = max(end.length for end in ends if end)
        ends = [end.rest if end and end.length == longest else end for end in ends]
    return None if None in ends else ends[0]
