"""The order of the two halves of a TPU program, for the analyzer and the runtime.

The analyzer reads a program without running it, and asks with three values; the runtime has the
finished graph, and asks for what is sure. Both ask the same functions, over the small protocol
`OrderGraph`. Nothing here knows either half.

TensorFlow decides for each operation of a host cluster whether it runs before the device program,
with it, or after it, by all edges of the graph, data and control
(encapsulate_tpu_computations_pass.cc, MoveHeadOutsideCompilationToHost and
MoveTailOutsideCompilationToHost). What stays between is one transfer for each cluster: the device
waits for it if it takes tensors of it (extract_outside_compilation_pass.cc).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
NodeT = TypeVar("NodeT", bound=Hashable)


class Truth(enum.IntEnum):
    """Whether something holds: on no run, on some run, or on every run that is asked about."""

    NO = 0
    MAYBE = 1
    YES = 2


def any3(truths: Iterable[Truth]) -> Truth:
    """Return whether one of `truths` holds."""
    return max(truths, default=Truth.NO)


def all3(truths: Iterable[Truth]) -> Truth:
    """Return whether all of `truths` hold."""
    return min(truths, default=Truth.YES)


def reachable(
    starts: Iterable[T],
    successors: Callable[[T], Iterable[T]],
    key: Callable[[T], Hashable] | None = None,
) -> Iterator[T]:
    """Yield `starts` and all that `successors` lead to, each once, the nearest first.

    key: what tells values apart, such as `id` for those that cannot be hashed or are equal.
    """
    seen = set[Hashable]()
    unread = list(starts)
    for value in unread:  # it grows meanwhile
        name = key(value) if key is not None else value
        if name not in seen:
            seen.add(name)
            yield value
            unread += successors(value)


def closure(
    truths: Mapping[NodeT, Truth], dependents: Callable[[NodeT], Iterable[tuple[NodeT, Truth]]]
) -> dict[NodeT, Truth]:
    """Return the least truths that are at least `truths`, and that pass on to dependents.

    A dependent is at least as true as what it depends on, as far as the edge between them holds.
    Nodes that are not in `truths` pass nothing on.
    """
    reached = dict(truths)
    for level in (Truth.YES, Truth.MAYBE):
        unread = [node for node, truth in reached.items() if truth >= level]
        while unread:
            for dependent, edge in dependents(unread.pop()):
                if edge >= level and reached.get(dependent, Truth.YES) < level:
                    reached[dependent] = level
                    unread.append(dependent)
    return reached


class CollectiveOperation(NamedTuple):
    """An operation that replicas carry out together (tpu_ops.py, distribute_lib.ReplicaContext)."""

    type: str
    calls: frozenset[str]  # the last names of the public calls that end in it
    agrees: bool  # it leaves every replica with the same


_COLLECTIVE_OPERATIONS = (
    CollectiveOperation(
        "CrossReplicaSum",
        # Also all_gather: a TPU sums what each replica has put into zeros of the whole shape.
        frozenset({"cross_replica_sum", "cross_replica_mean", "all_reduce", "all_gather"}),
        agrees=True,
    ),
    CollectiveOperation("AllToAll", frozenset({"all_to_all"}), agrees=False),
    CollectiveOperation("CollectivePermute", frozenset({"collective_permute"}), agrees=False),
)

COLLECTIVES = frozenset(row.type for row in _COLLECTIVE_OPERATIONS)
AGREEMENTS = frozenset(row.type for row in _COLLECTIVE_OPERATIONS if row.agrees)
COLLECTIVE_CALLS = frozenset[str]().union(*(row.calls for row in _COLLECTIVE_OPERATIONS))
AGREEMENT_CALLS = frozenset[str]().union(
    *(row.calls for row in _COLLECTIVE_OPERATIONS if row.agrees)
)


def rule_of_divergence(alike: Truth) -> str:
    """Return the code of the rule that a collective breaks where only some replicas come to it.

    `alike` says whether all replicas decide alike in each branch and loop around it.
    """
    return "TPU306" if alike is Truth.NO else "TPU305"


INFEED_TAKES = frozenset({"InfeedDequeue", "InfeedDequeueTuple"})
"""By these the device takes tuples from the host, for which it may have to wait."""
FEEDS = INFEED_TAKES | {
    name + kind
    for name in ("InfeedEnqueue", "OutfeedEnqueue", "OutfeedDequeue")
    for kind in ("", "Tuple")
}
ONLY_OF_TPUS = frozenset(
    {"InplaceAdd", "InplaceUpdate", "QuantizeAndDequantize", "ResizeNearestNeighborGrad"}
)
"""Compiled on a TPU (tf2xla's legalization_op_config.cc), by kernels that XLA:CPU lacks."""


class Edge(Generic[NodeT]):
    """`source` comes before `user`: it gives it a tensor (`is_data`), or is waited for.

    is_certain: `source` is there whenever `user` is.
    """

    def __init__(self, source: NodeT, user: NodeT, is_data: bool, is_certain: bool = True) -> None:
        self.source = source
        self.user = user
        self.is_data = is_data
        self.is_certain = is_certain


class OrderGraph(Protocol[NodeT]):
    """The graph of a computation, or of one body in it, as TensorFlow's passes see it."""

    @property
    def is_top(self) -> bool:
        """Whether this is the computation's own graph: a body has no head and no tail."""

    @property
    def host_nodes(self) -> Sequence[NodeT]:
        """The operations of host clusters."""

    def cluster_of(self, node: NodeT) -> Hashable | None:
        """Return the host cluster of a node, None for the device's."""

    def sources(self, node: NodeT) -> Sequence[Edge[NodeT]]:
        """Return the edges that lead to a node."""

    def users(self, node: NodeT) -> Sequence[Edge[NodeT]]:
        """Return the edges that lead away from a node."""

    def holds(self, edge: Edge[NodeT]) -> Truth:
        """Return whether both ends of an edge are there, and it is between them."""

    def takes_from_device(self, node: NodeT) -> Truth:
        """Return whether a host node itself needs what the device computes."""

    def lead_to_device(self, edges: Iterable[Edge[NodeT]]) -> Truth:
        """Return whether one of `edges` leads to an operation of the device."""

    def is_live(self, node: NodeT) -> bool:
        """Return whether a host node may be there: TensorFlow prunes what nothing needs."""

    def is_result(self, node: NodeT) -> bool:
        """Return whether the computation gives out tensors of a node."""

    def is_taken(self, node: NodeT) -> bool:
        """Return whether the device takes tensors of a node to where no edge shows it."""

    def is_waited_for(self, node: NodeT) -> bool:
        """Return whether the results of the graph, which the device computes, wait for a node."""


class Phase(enum.Enum):
    """The part of a step in which a host operation runs."""

    BEFORE = "before"  # before the device program: a head
    AWAITED = "awaited"  # with the device program, which waits for it
    AFTER = "after"  # after the device program, or beside it with nobody waiting


class Placement(NamedTuple):
    """When an operation of a host cluster runs, and whether it does so on every run."""

    when: Phase
    is_definite: bool
    is_last: bool = False  # nothing on the device comes after it: it is a tail


# A host_call's and an eval_metrics': they get their tensors by the outfeed.
NEVER_AWAITED = Placement(Phase.AFTER, is_definite=True)


class HostOrder(Generic[NodeT]):
    """The placements of all host operations of one graph."""

    def __init__(self, graph: OrderGraph[NodeT]) -> None:
        self._graph = graph

    def placement(self, node: NodeT) -> Placement:
        """Return when a host node runs."""
        needs_device = self._needs_device[node]
        if needs_device is Truth.NO:
            return Placement(Phase.BEFORE, is_definite=True)
        awaited = self._awaited[node]
        if awaited is not Truth.NO:
            return Placement(Phase.AWAITED, all3([awaited, needs_device]) is Truth.YES)
        return Placement(Phase.AFTER, needs_device is Truth.YES, self._is_tail(node))

    @cached_property
    def _needs_device(self) -> Mapping[NodeT, Truth]:
        """A head needs nothing of the device but its arguments; in a body there are none."""
        graph = self._graph
        if not graph.is_top:
            return dict.fromkeys(graph.host_nodes, Truth.YES)
        return closure(
            {node: graph.takes_from_device(node) for node in graph.host_nodes},
            lambda node: ((edge.user, graph.holds(edge)) for edge in graph.users(node)),
        )

    @cached_property
    def _precedes_device(self) -> Mapping[NodeT, Truth]:
        """A tail is followed by nothing on the device."""
        nodes = self._graph.host_nodes
        return self._passed_to_sources({node: self._is_followed(node) for node in nodes})

    @cached_property
    def _awaited(self) -> Mapping[NodeT, Truth]:
        """Return whether the device waits for a node, or for what needs it.

        The tensors of a cluster also signal that all of it that the device waits for has run.
        """
        taken = {node: self._is_taken(node) for node in self._graph.host_nodes}
        signals: dict[Hashable | None, Truth] = {}
        for node, truth in taken.items():
            if self._needs_device[node] is not Truth.NO:  # a head has run before the transfer
                cluster = self._graph.cluster_of(node)
                signals[cluster] = any3([truth, signals.get(cluster, Truth.NO)])
        awaited = {}
        for node, truth in taken.items():
            signal = signals.get(self._graph.cluster_of(node), Truth.NO)
            awaited[node] = any3([truth, all3([self._is_followed(node), signal])])
        return self._passed_to_sources(awaited)

    def _passed_to_sources(self, truths: Mapping[NodeT, Truth]) -> Mapping[NodeT, Truth]:
        graph = self._graph
        return closure(
            truths, lambda node: ((edge.source, graph.holds(edge)) for edge in graph.sources(node))
        )

    def _is_taken(self, node: NodeT) -> Truth:
        """Return whether the device takes tensors of a node, if only to give them out.

        TensorFlow hands the tensors of the middle to a tail by way of the device program.
        """
        graph = self._graph
        if graph.is_taken(node):
            return Truth.YES
        data = [edge for edge in graph.users(node) if edge.is_data]
        users = [edge.user for edge in data if graph.cluster_of(edge.user) is not None]
        goes_out = graph.is_result(node) or any(
            graph.is_live(user) and self._is_tail(user) for user in users
        )
        given_out = self._precedes_device[node] if goes_out else Truth.NO
        return any3([graph.lead_to_device(data), given_out])

    def _is_tail(self, node: NodeT) -> bool:
        return self._graph.is_top and self._precedes_device[node] is Truth.NO

    def _is_followed(self, node: NodeT) -> Truth:
        graph = self._graph
        if graph.is_taken(node) or graph.is_waited_for(node):
            return Truth.YES
        return graph.lead_to_device(graph.users(node))


def is_stale(
    placement: Placement, *, host_reads: bool, device_is_earlier: bool, host_is_earlier: bool
) -> bool:
    """Return whether host and device, of which one writes, miss in time what the other writes.

    The device program holds the variable from its start to its end. So a host operation sees what
    the variable was before all of it or is after all of it, wherever the program has it: an access
    that is `device_is_earlier` or `host_is_earlier` in program order may be on the wrong side.
    A host operation that the device waits for sees nothing, as it never runs.
    """
    if placement.when is Phase.BEFORE:
        return device_is_earlier
    if placement.when is Phase.AFTER:
        return not host_reads or not placement.is_last or host_is_earlier
    return False
