"""One order for both halves: with certain edges as in TensorFlow, with uncertain ones by Kleene."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import pytest

from tpulint.ordering import Edge, HostOrder, Phase, Placement, Truth, all3, any3, closure, is_stale

DEVICE = {"a": None, "b": None}
HOST = {"first": "0", "second": "0", "other": "1"}


@dataclass(frozen=True)
class Graph:
    """A graph of the nodes above, with edges such as "a > first" (data) or "a ~ first" (waits).

    An edge with a question mark is not always there.
    """

    edges: str
    results: frozenset[str] = frozenset()
    is_top: bool = True

    @property
    def host_nodes(self) -> Sequence[str]:
        return list(HOST)

    def all_edges(self) -> Iterable[Edge[str]]:
        for text in self.edges.split(","):
            if text.strip():
                source, kind, user = text.split()
                yield Edge(source, user, ">" in kind, "?" not in kind)

    def cluster_of(self, node: str) -> Hashable | None:
        return {**DEVICE, **HOST}[node]

    def sources(self, node: str) -> Sequence[Edge[str]]:
        return [edge for edge in self.all_edges() if edge.user == node]

    def users(self, node: str) -> Sequence[Edge[str]]:
        return [edge for edge in self.all_edges() if edge.source == node]

    def holds(self, edge: Edge[str]) -> Truth:
        return Truth.YES if edge.is_certain else Truth.MAYBE

    def takes_from_device(self, node: str) -> Truth:
        return any3(self.holds(edge) for edge in self.sources(node) if edge.source in DEVICE)

    def lead_to_device(self, edges: Iterable[Edge[str]]) -> Truth:
        return any3(self.holds(edge) for edge in edges if edge.user in DEVICE)

    def is_live(self, node: str) -> bool:
        return node in HOST

    def is_result(self, node: str) -> bool:
        return node in self.results

    def is_taken(self, node: str) -> bool:
        return node in self.results and not self.is_top

    def is_waited_for(self, node: str) -> bool:
        return False


def placement(edges: str, node: str = "first", *results: str, is_top: bool = True) -> Placement:
    return HostOrder(Graph(edges, frozenset(results), is_top)).placement(node)


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ("first > b", Placement(Phase.BEFORE, True)),
        ("a > first", Placement(Phase.AFTER, True, is_last=True)),
        ("a > first, first > b", Placement(Phase.AWAITED, True)),
        ("a ~ first, first > b", Placement(Phase.AWAITED, True)),
        # No tensor of the cluster is taken: there is nothing to wait for it by.
        ("a > first, first ~ b", Placement(Phase.AFTER, True)),
        ("a > first, first ~ b, a > second, second > b", Placement(Phase.AWAITED, True)),
        ("a > first, first ~ b, a > other, other > b", Placement(Phase.AFTER, True)),
        ("a > first, first > second, second > b", Placement(Phase.AWAITED, True)),
        ("a ?> first, first > b", Placement(Phase.AWAITED, False)),
        ("a > first, first ?> b", Placement(Phase.AWAITED, False)),
        ("a > second, second ?~ first", Placement(Phase.AFTER, False, is_last=True)),
        # What the middle gives a tail, it gives by way of the device.
        ("a > first, first ~ b, first > other", Placement(Phase.AWAITED, True)),
    ],
)
def test_an_operation_is_placed_by_its_edges(edges: str, expected: Placement) -> None:
    assert placement(edges) == expected


def test_a_result_of_the_middle_is_taken_and_one_of_a_tail_is_not() -> None:
    assert placement("a > first, first ~ b", "first", "first").when is Phase.AWAITED
    assert placement("a > first", "first", "first").when is Phase.AFTER


def test_a_body_has_no_head_and_no_tail() -> None:
    assert placement("first > b", is_top=False).when is Phase.AWAITED
    assert placement("", "first", "first", is_top=False).when is Phase.AWAITED
    assert placement("a > first", is_top=False) == Placement(Phase.AFTER, True, is_last=False)


def test_a_closure_takes_the_best_way_of_the_least_edge() -> None:
    edges = {
        "x": [("y", Truth.MAYBE), ("z", Truth.YES)],
        "y": [("w", Truth.YES)],
        "z": [("w", Truth.MAYBE), ("x", Truth.YES)],  # a circle
        "w": [("device", Truth.YES)],
    }
    start = {"x": Truth.YES, "y": Truth.NO, "z": Truth.NO, "w": Truth.NO, "v": Truth.NO}
    assert closure(start, lambda node: edges.get(node, [])) == {
        "x": Truth.YES,
        "y": Truth.MAYBE,
        "z": Truth.YES,
        "w": Truth.MAYBE,
        "v": Truth.NO,
    }


def test_of_nothing_all_hold_and_none_does() -> None:
    assert (all3([]), any3([])) == (Truth.YES, Truth.NO)
    assert all3([Truth.YES, Truth.MAYBE]) is any3([Truth.NO, Truth.MAYBE]) is Truth.MAYBE


@pytest.mark.parametrize(
    ("when", "is_last", "host_reads", "device_is_earlier", "expected"),
    [
        (Phase.BEFORE, False, True, True, True),
        (Phase.BEFORE, False, False, False, False),
        (Phase.AWAITED, False, False, True, False),
        (Phase.AFTER, True, True, True, False),
        (Phase.AFTER, True, True, False, True),
        (Phase.AFTER, True, False, True, True),
        (Phase.AFTER, False, True, True, True),
    ],
)
def test_the_side_that_runs_at_the_wrong_time_is_stale(
    when: Phase, is_last: bool, host_reads: bool, device_is_earlier: bool, expected: bool
) -> None:
    stale = is_stale(
        Placement(when, True, is_last),
        host_reads=host_reads,
        device_is_earlier=device_is_earlier,
        host_is_earlier=not device_is_earlier,
    )
    assert stale == expected
