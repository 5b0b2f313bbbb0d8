"""The budgets of a run: how often and how deep the functions of a program are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Generic, TypeVar

from tpulint.absint.domain.events import Argument, Variable
from tpulint.absint.domain.objects import Env, Function, Instance, Mapping, Sequence, function_of
from tpulint.absint.domain.values import Bound, Choice, Partial, Value

Arguments = tuple[Argument, ...]
Identity = tuple[object, ...]
PASSED = frozenset([Function, Bound, Partial, Variable])
HOLDERS = frozenset([Choice, Sequence, Mapping, Instance])
MAX_CLOSURE_LEVELS = 2  # closures in closures
MAX_IDENTITY_ITEMS = 32  # of one container


def identity(function: Function, args: Arguments) -> Identity:
    """Return the identity of a call: its code and closure, and those of what is passed to it."""
    parts: list[object] = []
    _collect(function, parts)
    for argument in args:
        value = argument.value
        kind = type(value)
        if kind in PASSED:
            _collect(value, parts)
        elif kind in HOLDERS:
            for item in islice(_items(value), MAX_IDENTITY_ITEMS):
                if type(item) in PASSED:
                    _collect(item, parts)
        if isinstance(value, Bound):
            parts.append(value.receiver)
    return tuple(parts)


def code_of_call(function: Function, args: Arguments) -> Identity:
    """Return the code that takes part in a call: that of a recursion is the same each time."""
    passed = (function_of(argument.value) for argument in args if type(argument.value) in PASSED)
    return (id(function.code), *(id(each.code) for each in passed if each is not None))


def _collect(value: Value, parts: list[object], levels: int = MAX_CLOSURE_LEVELS) -> None:
    """Add the code of a function with what is passed to it and around it, or a variable."""
    if isinstance(value, Function):
        parts.append(id(value.code))
        if value.env is not None and value.env.function is not None and levels:
            for item in _parameters(value.env):
                _collect(item, parts, levels - 1)
    elif isinstance(value, Bound):
        _collect(value.function, parts, levels)
    elif isinstance(value, Partial):
        for item in (value.function, *value.args, *(item for _, item in value.kwargs)):
            _collect(item, parts, levels)
    elif isinstance(value, Variable):
        parts.append(value)


def _parameters(env: Env) -> Iterable[Value]:
    """Return what was passed to the function whose names these are."""
    names = env.function.code.parameters.names_by_position
    return [env.names[name] for name in names if type(env.names.get(name)) in PASSED]


def _items(value: Value) -> Iterable[Value]:
    """Return the items of a container, or the attributes of an object."""
    if isinstance(value, Instance):
        return value.attributes.values()
    if isinstance(value, Sequence):
        return value.items
    if isinstance(value, Mapping):
        return value.items.values()
    return value.options if isinstance(value, Choice) else ()


MAX_CALL_DEPTH = 40  # calls inside one another
MIN_VISITS = 3  # readings of one function in one run, at least
SMALL_FUNCTION_IDENTIFIERS = 60  # identifiers: a function with few of them is read more often
MAX_ALIKE_VISITS = (
    64  # readings of one function in one run after which it is read once a distinct call
)
MAX_CALLS = 20_000  # readings of all functions in one run
RECURSION = "recursion"


T = TypeVar("T")


class Pushed(Generic[T]):
    """An item that is at the end of a list in a `with` block."""

    __slots__ = ("_end", "_holder")

    def __init__(self, holder: list[T], end: T) -> None:
        self._holder = holder
        self._end = end

    def __enter__(self) -> None:
        self._holder.append(self._end)

    def __exit__(self, *_: object) -> None:
        self._holder.pop()


class Budgets:
    """The budgets of one run, and the functions that are being read.

    A function has a budget for each group of functions and variables that are passed to it, so
    that calls with others do not use it up.
    """

    def __init__(self) -> None:
        self._active: list[Identity] = []
        self._visits: Counter[Hashable] = Counter()
        self._calls = 0

    def renew(self) -> None:
        """Begin a run, with fresh budgets."""
        self._visits.clear()
        self._calls = 0

    def exceeded(self, function: Function, args: Arguments) -> str | None:
        """Count a call; return the budget that it exceeds, None where it may be followed."""
        code, call = id(function.code), identity(function, args)
        self._calls += 1
        self._visits[code] += 1
        self._visits[call] += 1
        if self._calls > MAX_CALLS:
            return f"more than {MAX_CALLS:,} calls in one run"
        if len(self._active) > MAX_CALL_DEPTH:
            return f"calls more than {MAX_CALL_DEPTH} deep"
        if self._active.count(code_of_call(function, args)) >= 2:
            return RECURSION
        visits = self._visits[call]
        is_spent = visits > MIN_VISITS and visits > SMALL_FUNCTION_IDENTIFIERS // (
            len(function.code.mentions) + 1
        )
        if is_spent or (visits > 1 and self._visits[code] > MAX_ALIKE_VISITS):
            return "read often enough"
        return None

    def is_active(self, function: Function) -> bool:
        """Return whether the function is being read."""
        return any(code == id(function.code) for code, *_ in self._active)

    def entered(self, function: Function, args: Arguments) -> Pushed[Identity]:
        """Return what makes the function one that is being read, in a `with` block."""
        return Pushed(self._active, code_of_call(function, args))
