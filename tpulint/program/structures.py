"""The tensors inside nested structures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tpulint.program.values import Choice, Mapping, Sequence, Tensor, Value

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
