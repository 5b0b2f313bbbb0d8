"""The tensors inside nested structures; putting into dicts and taking out of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tpulint.program.values import Choice, Mapping, Sequence, Tensor, Value
from tpulint.program.where import Where

DEPTH = 5  # structures within structures


def tensors(value: Value) -> Iterator[Tensor]:
    """The tensors in `value`, structures opened."""
    for tensor, _ in told_apart(value):
        yield tensor


def told_apart(value: Value, depth: int = 0, chosen: bool = False) -> Iterator[tuple[Tensor, bool]]:
    """The tensors in `value`, each with whether something else may stand in its place."""
    if isinstance(value, Tensor):
        yield value, chosen
    elif depth < DEPTH:
        if isinstance(value, Choice):
            inner: Iterable[Value] = value.options
            chosen = True
        elif isinstance(value, Sequence):
            inner = value.items
        elif isinstance(value, Mapping):
            inner = value.items.values()
        else:
            return
        for item in list(inner):
            yield from told_apart(item, depth + 1, chosen)


def put(mapping: Mapping, key: Any, item: Value, where: Where) -> None:
    """`mapping[key] = item` at `where`."""
    if key not in mapping.items or key in mapping.set_at:
        mapping.set_at[key] = where
    mapping.items[key] = item


def drop(mapping: Mapping, key: Any) -> None:
    """`del mapping[key]`."""
    if mapping.items.pop(key, None) is None:
        mapping.open = True
    mapping.set_at.pop(key, None)
