"""The computation and the cluster around a place are those that its scopes say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.reading import interpreter
from tpulint.absint.domain.context import CLUSTER, COMPUTATION, LOOP, Scope, ScopeStack
from tpulint.absint.domain.site import Site

MODULE = interpreter("x = 1\n")[1]
KINDS = st.lists(st.sampled_from([COMPUTATION, CLUSTER, LOOP]), max_size=3)


def innermost(stack: ScopeStack, kind: str) -> object:
    return next((scope.payload for scope in reversed(stack) if scope.kind == kind), None)


@given(st.lists(KINDS, max_size=4))
def test_they_are_the_innermost(entered: list[list[str]]) -> None:
    stack = ScopeStack()
    for kinds in entered:
        stack = stack.and_inside(*(Scope(kind, Site(MODULE, -1), object()) for kind in kinds))
    assert stack.computation is innermost(stack, COMPUTATION)
    inside = [scope.payload for scope in stack.since(COMPUTATION) if scope.kind == CLUSTER]
    assert stack.cluster is (inside[0] if inside else None)
    assert [scope.kind for scope in stack] == [kind for kinds in entered for kind in kinds]
