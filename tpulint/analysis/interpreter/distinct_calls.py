"""The identity of a call: the functions and variables that tell it from others of its function."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from tpulint.analysis.domain.events import Argument, Variable
from tpulint.analysis.domain.objects import (
    Env,
    Function,
    Instance,
    Mapping,
    Sequence,
    function_of,
)
from tpulint.analysis.domain.values import Bound, Choice, Partial, Value

Arguments = tuple[Argument, ...]
Identity = tuple[object, ...]
PASSED = frozenset([Function, Bound, Partial, Variable])
HOLDERS = frozenset([Choice, Sequence, Mapping, Instance])
LEVELS = 2  # closures in closures
ITEMS = 32  # of one container


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
            for item in islice(_items(value), ITEMS):
                if type(item) in PASSED:
                    _collect(item, parts)
        if isinstance(value, Bound):
            parts.append(value.receiver)
    return tuple(parts)


def code_of_call(function: Function, args: Arguments) -> Identity:
    """Return the code that takes part in a call: that of a recursion is the same each time."""
    passed = (function_of(argument.value) for argument in args if type(argument.value) in PASSED)
    return (id(function.code), *(id(each.code) for each in passed if each is not None))


def _collect(value: Value, parts: list[object], levels: int = LEVELS) -> None:
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
