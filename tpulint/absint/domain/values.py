"""Values that a name can have while the program is read, of those that need no context.

`Choice` holds alternatives (branches, loops); `UNKNOWN` is an honest answer and no rule builds
a certain finding on it. Those with an identity of their own are in `objects` and `events`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(frozen_default=True)
    def frozen(cls: type[T]) -> type[T]:
        """Make a frozen dataclass: mypy checks that no object of it is changed."""
        return cls
else:
    # Objects of classes that are frozen at run time, too, take three times as long to make.
    frozen = dataclass(unsafe_hash=True, repr=False, slots=True)


# The functions of `six.moves` that Python 3 has itself.
SIX_MOVES = {f"six.moves.{name}": f"builtins.{name}" for name in ("filter", "map", "range", "zip")}
SIX_MOVES["six.moves.xrange"] = "builtins.range"
SIX_MOVES["six.moves.reduce"] = "functools.reduce"
MAX_ALTERNATIVES = 6
MAX_CALLEES = 32  # alternatives of what is called


class Value:
    """Anything that a name can stand for.

    is_callee: calling it runs code of the project. is_true: Python takes it for true.
    is_object: a library made it, or it is a method of such an object. shown: its repr, to be filled
    in with the value.
    """

    __slots__ = ()
    shown: ClassVar[str] = "{0.__class__.__name__}"
    is_true: ClassVar[bool] = False
    is_tensor: ClassVar[bool] = False

    def __repr__(self) -> str:
        return self.shown.format(self)

    @property
    def is_callee(self) -> bool:
        return False

    @property
    def is_object(self) -> bool:
        return False

    @property
    def options(self) -> tuple[Value, ...]:
        """The values that this may be: only itself, unless it is a choice."""
        return (self,)

    def is_same(self, other: Value) -> bool:
        """Return whether it makes no difference which of the two it is."""
        return False


class Comparable(Value):
    """A value that is the same as an equal one."""

    __slots__ = ()

    def is_same(self, other: Value) -> bool:
        return self == other


@dataclass(eq=False, repr=False, slots=True)
class _Named(Value):
    """A value of which there is one."""

    shown = "{0.name}"
    name: str
    is_callee: bool = False


UNKNOWN = _Named("UNKNOWN")
# A function that is left out of a choice.
UNLISTED = _Named(f"one of more than {MAX_CALLEES} functions", is_callee=True)


@frozen
class Const(Value):
    """A Python constant: None, bool, int, float or str."""

    shown = "{0.value!r}"
    value: Any

    def is_same(self, other: Value) -> bool:
        """Return whether both are one constant: 1, 1.0 and True are three."""
        same_kind = isinstance(other, Const) and type(self.value) is type(other.value)
        return same_kind and self == other


NONE = Const(None)


@frozen
class Text(Comparable):
    """A string of which the first part is known: `"grpc://" + address`.

    ends: what is known of its end; empty where nothing is.
    """

    starts: str
    ends: str = ""

    def __repr__(self) -> str:
        return f"{self.starts!r}..." + (repr(self.ends) if self.ends else "")


@frozen
class Scaled(Comparable):
    """A whole number times another one that is not seen, or divided by it: `8 // replicas`.

    unit: what that one is. number: None where it is not seen, either. power: -1 of a quotient.
    """

    unit: str
    number: int | None = 1
    power: int = 1

    def __repr__(self) -> str:
        number = "?" if self.number is None else self.number
        return f"{number} {'*' if self.power > 0 else '//'} {self.unit}"


@frozen
class Number(Comparable):
    """A number of Python that is not seen: what is computed of flags and constants."""

    shown = "a number"


@frozen
class ContextQuery(Value):
    """The answer to a question about what is open while code is traced: `name` is what is asked."""

    shown = "{0.name}"
    name: str


@dataclass(eq=False, repr=False, slots=True)
class Opaque(Value):
    """Something unknown that keeps its identity: a parameter of a root, an attribute of one.

    `path` reads as in the source (`params.strategy`); `children` are its attributes.
    compared: the constant, where this is the answer to a comparison of `parent` with one.
    members: all members of the enumeration that this is one of.
    negates: what this is the opposite of. is_static: known while the program is traced, as
    `mode` is. inferred_as: what it must be, by the methods that are called on it.
    default: of a parameter that arguments that are not seen (`**options`) may set.
    iterated: what this is an element of, where a library says what its elements are.
    is_setting: the user sets it for a whole run, or all that is in it.
    held: a dict of the items that the program puts into it, where it does.
    """

    shown = "unknown {0.path}"
    path: str
    children: dict[str, Value] = field(default_factory=dict)
    parent: Opaque | None = None
    compared: str | None = None
    negates: Opaque | None = None
    is_static: bool = False
    members: frozenset[str] = frozenset()
    default: Const | None = None
    iterated: Value | None = None
    is_setting: bool = False
    inferred_as: dict[type[Value], Value] = field(default_factory=dict)
    held: Value | None = None
    _answers: dict[str, Opaque] = field(default_factory=dict)

    @property
    def last(self) -> str:
        return self.path.rpartition(".")[2]

    def child(self, name: str, path: str) -> Value:
        """Return the attribute or item `name`, the same each time."""
        if name not in self.children:
            self.children[name] = Opaque(path, parent=self, is_setting=self.is_setting)
        return self.children[name]

    def _answer(self, path: str, **facts: Any) -> Opaque:
        """Return the answer to a test of this that reads as `path`, the same each time."""
        if path not in self._answers:
            self._answers[path] = Opaque(path, parent=self, is_setting=self.is_setting, **facts)
        return self._answers[path]

    def equal_to(self, other: str, members: frozenset[str] = frozenset()) -> Opaque:
        """Return the answer to `this == other`, the same each time.

        members: all that it may be equal to, where `other` is of an enumeration.
        """
        return self._answer(f"{self.path} == {other}", compared=other, members=members)

    def negated(self) -> Opaque:
        """Return the answer to `not this`, the same each time."""
        return self._answer(f"not {self.path}", negates=self)

    def holds(self, item: str) -> Opaque:
        """Return the answer to `item in this`, the same each time."""
        return self._answer(f"{item} in {self.path}")

    def excludes(self, other: Opaque) -> bool:
        """Return whether two comparisons cannot both be true: of one thing with two constants."""
        if self.compared is None or other.compared is None or self.parent is not other.parent:
            return False
        return self.compared != other.compared

    def is_implied_by_negations(self, denied: Iterable[Opaque]) -> bool:
        """Return whether this is a comparison with the only member that the others leave."""
        others = {comparison.compared for comparison in denied if comparison.parent is self.parent}
        return self.compared in self.members and others >= self.members - {self.compared}


@frozen
class External(Comparable):
    """A dotted name of something that is not in the project, imports resolved."""

    shown = "{0.path}"
    path: str

    @property
    def last(self) -> str:
        return self.path.rpartition(".")[2]


# What stands where something else is filled in, from a file or by the caller.
PLACEHOLDERS = frozenset(["gin.REQUIRED", "omegaconf.MISSING"])


def outside(path: str) -> Value:
    """Return the dotted name of something that is not in the project; six's are Python's own."""
    return UNKNOWN if path in PLACEHOLDERS else External(SIX_MOVES.get(path, path))


@frozen
class ModuleValue(Value):
    """A module of the project, by its file; `dotted` is what the import called it."""

    shown = "module {0.dotted}"
    is_true: ClassVar[bool] = True
    path: str
    dotted: str


@frozen
class DeferredName(External):
    """A name of a project's module that was passed by; `base` can still be read."""

    shown = "{0.path} (its module was not read)"
    is_callee = True  # it may be a function, which is read where the program calls it
    base: ModuleValue
    name: str


@frozen
class Imported(Value):
    """A name imported from a project's module, looked up when it is used."""

    shown = "{0.dotted}.{0.name}"
    path: str
    dotted: str
    name: str


@frozen
class Bound(Comparable):
    """`function` with its first argument given: a bound method."""

    shown = "{0.function!r} of {0.receiver!r}"
    function: Value
    receiver: Value

    @property
    def is_callee(self) -> bool:
        return self.function.is_callee

    @property
    def is_object(self) -> bool:
        return self.receiver.is_object


@frozen
class Partial(Value):
    """`functools.partial(function, *args, **kwargs)`."""

    shown = "partial({0.function!r})"
    function: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]

    @property
    def is_callee(self) -> bool:
        return self.function.is_callee


@frozen
class Choice(Value):
    """One of several values; it depends on what the analysis cannot see."""

    options: tuple[Value, ...] = field()  # else the property of `Value` would be its default

    def __repr__(self) -> str:
        return " or ".join(map(repr, self.options))

    def each(self, parts: Iterable[Value]) -> Value:
        """Return what is one of `parts`, of which each comes from one of the options."""
        return join(parts)


class DictChoice(Choice):
    """One of the values of a dict, by a key that is not seen: each is meant by a key of its own."""

    def each(self, parts: Iterable[Value]) -> Value:
        value = join(parts)
        return DictChoice(value.options) if isinstance(value, Choice) else value


def join(values: Iterable[Value]) -> Value:
    """Return the value that is one of `values`.

    Of more than `MAX_ALTERNATIVES` alternatives, functions and objects are kept, the first
    tensors, and what was kept by `choice_of_many`: the others are UNKNOWN.
    """
    values = tuple(values)
    if len(values) == 1 or (len(values) == 2 and values[0] is values[1]):
        return values[0]
    distinct: list[Value] = []
    identities: set[int] = set()
    most_useful: list[Value] = []
    is_complete = True
    for value in values:
        alternatives = value.options
        are_many = len(alternatives) > MAX_ALTERNATIVES
        for option in alternatives:
            if id(option) in identities:
                continue
            # Few classes have values that are the same without being one object.
            if type(option).is_same is not Value.is_same and any(map(option.is_same, distinct)):
                continue
            is_kept = option.is_callee or option.is_object
            if is_kept or (are_many and not option.is_tensor and option is not UNKNOWN):
                most_useful.append(option)
            elif len(distinct) >= MAX_ALTERNATIVES:
                is_complete = False
                continue
            elif option.is_tensor and len(most_useful) < MAX_ALTERNATIVES - 1:
                most_useful.append(option)
            distinct.append(option)
            identities.add(id(option))
    if len(distinct) > MAX_ALTERNATIVES or not is_complete:
        return _listed(most_useful, is_complete and len(most_useful) == len(distinct))
    if len(distinct) == 1:
        return distinct[0]
    return Choice(tuple(distinct)) if distinct else UNKNOWN


def choice_of_many(values: Iterable[Value]) -> Value:
    """Return the value that is one of `values`, of which none gets lost for their number."""
    alternatives = {id(option): option for value in values for option in value.options}
    if len(alternatives) <= MAX_ALTERNATIVES:
        return join(alternatives.values())
    is_complete = alternatives.pop(id(UNKNOWN), None) is None
    return _listed(list(alternatives.values()), is_complete)


def _listed(options: list[Value], is_complete: bool) -> Value:
    """Return the choice of what is kept of too many alternatives, UNKNOWN for others."""
    if len(options) > MAX_CALLEES:
        return Choice((*options[: MAX_CALLEES - 1], UNLISTED))
    if options and not is_complete:
        options.append(UNKNOWN)
    return Choice(tuple(options)) if options else UNKNOWN
