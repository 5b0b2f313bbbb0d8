"""The nesting of loops and scopes in a module's text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tpulint.analysis.domain.site import Site

LOOPS = frozenset(["for", "while"])


def is_written_in(outer: Site, inner: Site) -> bool:
    """Return whether `inner` is in the loop at `outer`, in the same function."""
    if outer.module is not inner.module:
        return False
    facts = outer.module.facts
    bodies = [facts.body, *(each.body for each in facts.functions)]
    loops = (node for node in _nodes(bodies) if _is_loop_at(node, outer.place))
    return any(_has_place(node, inner.place) for loop in loops for node in _nodes(loop))


def _nodes(tree: Any) -> Iterator[list[Any]]:
    """Every list of the summary, outermost first; nested functions are not part of it."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            yield node
            stack.extend(node)


def _has_place(node: list[Any], place: int) -> bool:
    return len(node) > 1 and isinstance(node[0], str) and node[1] == place


def _is_loop_at(node: list[Any], place: int) -> bool:
    return _has_place(node, place) and node[0] in LOOPS
