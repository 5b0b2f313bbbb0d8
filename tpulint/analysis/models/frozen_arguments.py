"""Copy the arguments of a call: a program may change its lists and dicts later."""

from __future__ import annotations

from dataclasses import replace

from tpulint.analysis.domain.events import Argument
from tpulint.analysis.domain.objects import Mapping, Sequence
from tpulint.analysis.domain.structures import DEPTH, copied
from tpulint.analysis.domain.values import Choice, Value

CHANGES = (Sequence, Mapping, Choice)


def snapshot(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """The same arguments, with structures of their own."""
    if not any(isinstance(each.value, CHANGES) for each in arguments):
        return arguments
    return tuple(
        each._replace(value=_copy(each.value)) if isinstance(each.value, CHANGES) else each
        for each in arguments
    )


def _copy(value: Value, depth: int = 0) -> Value:
    if depth > DEPTH or not isinstance(value, CHANGES):
        return value
    if isinstance(value, Choice):
        copies = tuple(_copy(each, depth + 1) for each in value.options)
        same = all(copy is each for copy, each in zip(copies, value.options, strict=True))
        return value if same else Choice(copies)
    if isinstance(value, Sequence):
        if value.kind == "tuple" and not any(isinstance(each, CHANGES) for each in value.items):
            return value
        return replace(value, items=[_copy(each, depth + 1) for each in value.items])
    items = {key: _copy(each, depth + 1) for key, each in value.items.items()}
    return replace(copied(value, value.made), items=items)
