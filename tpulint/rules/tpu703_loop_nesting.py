"""The nesting of loops and scopes in a module's text."""

from __future__ import annotations

from tpulint.analysis.domain.site import Site
from tpulint.syntax.nodes import walk
from tpulint.syntax.statement_nodes import For, While


def is_written_in(outer: Site, inner: Site) -> bool:
    """Return whether `inner` is in the loop at `outer`, in the same function."""
    if outer.module is not inner.module:
        return False
    facts = outer.module.facts
    loops = (
        node
        for body in (facts.body, *(each.body for each in facts.functions))
        for node in walk(*body)
        if isinstance(node, (For, While)) and node.place == outer.place
    )
    return any(getattr(node, "place", None) == inner.place for loop in loops for node in walk(loop))
