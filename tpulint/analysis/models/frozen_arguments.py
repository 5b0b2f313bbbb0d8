"""Copy the arguments of a call: a program may change its lists and dicts later."""

from __future__ import annotations

from tpulint.analysis.domain.events import Argument
from tpulint.analysis.domain.objects import Sequence
from tpulint.analysis.domain.structures import DEPTH, STRUCTURES, copied
from tpulint.analysis.domain.values import Choice, Value


def snapshot(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Return the same arguments, with structures of their own."""
    for each in arguments:
        if isinstance(each.value, STRUCTURES):
            break
    else:
        return arguments
    return tuple(
        Argument(each.keyword, each.star, _copy(each.value), each.site, each.node)
        if isinstance(each.value, STRUCTURES)
        else each
        for each in arguments
    )


def _copy(value: Value, depth: int = 0) -> Value:
    if depth > DEPTH or not isinstance(value, STRUCTURES):
        return value
    if isinstance(value, Choice):
        copies = tuple(_copy(each, depth + 1) for each in value.options)
        same = all(copy is each for copy, each in zip(copies, value.options, strict=True))
        return value if same else Choice(copies)
    if isinstance(value, Sequence):
        if value.kind == "tuple" and not any(isinstance(each, STRUCTURES) for each in value.items):
            return value
        rows = [_copy(each, depth + 1) for each in value.items]
        kind, is_open, site, made = value.kind, value.open, value.site, value.made
        return Sequence(kind, rows, is_open, site, made, value.alike, value.places)
    items = {key: _copy(each, depth + 1) for key, each in value.items.items()}
    return copied(value, value.made, items)
