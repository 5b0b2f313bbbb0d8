"""The summary language: what is kept of a module's expressions and statements.

`place` is an ordinal that `positions` turns into rows and columns only when they are asked for:
positions cost more than the rest of the tree. `function` and `class_` are indexes in the
module's lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(frozen_default=True)
    def node(cls: type[T]) -> type[T]:
        """Make a frozen class with slots: mypy checks that no node is changed."""
        return cls
else:
    # Objects of classes that are frozen at run time, too, take three times as long to make.
    node = dataclass(slots=True)


class Node:
    """A part of a summary."""

    __slots__: tuple[str, ...] = ()


class Expression(Node):
    __slots__ = ()


class Statement(Node):
    __slots__ = ()


Block: TypeAlias = list[Statement]


def parts(of: Node) -> Iterator[Node]:
    """Yield the nodes directly in a node, in source order of its fields."""
    for name in of.__slots__:
        value = getattr(of, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, Node))


def walk(*roots: Node) -> Iterator[Node]:
    """Yield the nodes and all that is in them, outermost first, in source order."""
    stack = list(reversed(roots))
    while stack:
        each = stack.pop()
        yield each
        stack.extend(reversed(list(parts(each))))
