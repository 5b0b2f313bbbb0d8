"""When the operations of host clusters run, on every run that reaches a place or on some.

The graphs are those of `graph_regions`, and the order is `ordering`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from tpulint.absint.domain.context import Scope, cover
from tpulint.absint.domain.events import Access, Cluster, Computation, Context, Operation
from tpulint.frontends.tensorflow.program import Program
from tpulint.ordering import Edge, HostOrder, Phase, Placement, Truth, any3
from tpulint.queries.graph_regions import (
    GraphNode,
    GraphRegion,
    Results,
    bodies_around,
    bodies_of,
    body_key,
    given_by_scopes,
    results_of,
)

OUTFED = ("host_call", "eval_metrics")  # their tensors leave the device for good


class HappensBefore:
    """The order of the operations of one computation."""

    def __init__(self, computation: Computation) -> None:
        self._computation = computation
        self._regions: dict[tuple[int, ...], GraphRegion] = {}
        self._orders: dict[tuple[int, int], HostOrder[GraphNode]] = {}
        self._results: Results = results_of(computation)
        self._live = self._needed_by(self._effects())
        self._needed: set[int] | None = None

    def is_live(self, node: GraphNode) -> bool:
        """Return whether anything comes of the node: TensorFlow prunes the others."""
        return not self._results.complete or any(
            id(operation) in self._live for operation in node.operations
        )

    def needs(self, operation: Operation) -> bool:
        """Return whether the results certainly need the operation."""
        if self._needed is None:
            self._needed = self._needed_by([])
        return id(operation) in self._needed

    def placement(self, access: Access) -> Placement | None:
        """Return when an access of a host cluster runs; None where no graph orders it."""
        cluster = access.context.cluster
        if cluster is None or access.operation is None or cluster.kind in OUTFED:
            return None
        while cluster.parent is not None:
            cluster = cluster.parent
        region = self._region(bodies_around(cluster))
        node = region.node(access.operation)
        if node is None or node.cluster is None:
            return None
        return self._order(region, access.context).placement(node)

    def waits_for(self, cluster: Cluster) -> Truth:
        """Return whether the device cannot go on before something in the cluster has run."""
        return any3(
            Truth.YES if placement.is_definite else Truth.MAYBE
            for placement in self.placements(cluster)
            if placement.when is Phase.AWAITED
        )

    def placements(self, cluster: Cluster) -> list[Placement]:
        """Return when the operations of the cluster run."""
        region = self._region(bodies_around(cluster))
        order = self._order(region, cluster.context)
        return [order.placement(node) for node in region.host_nodes if node.cluster is cluster]

    def _order(self, region: GraphRegion, place: Context) -> HostOrder[GraphNode]:
        key = id(region), id(place)
        if key not in self._orders:
            self._orders[key] = HostOrder(_RegionAtPlace(self, region, place))
        return self._orders[key]

    def _region(self, bodies: tuple[Scope, ...]) -> GraphRegion:
        key = tuple(id(scope) for scope in bodies)
        if key not in self._regions:
            region = self._regions[key] = GraphRegion(self._computation, bodies)
            for operation in self._results.operations:
                node = region.node(operation)
                if node is not None:
                    node.is_result = True
                    node.is_taken = node.is_taken or not (self._results.flat and region.is_top)
        return self._regions[key]

    def _effects(self) -> list[Operation]:
        """Return the operations that TensorFlow never prunes."""
        kept = [
            access.operation
            for access in self._computation.accesses
            if access.operation is not None
        ]
        for operation in self._computation.operations:
            kept += [operation] if operation.unseen or operation.ordered or operation.kept else []
        return kept

    def _needed_by(self, roots: list[Operation]) -> set[int]:
        """Return the operations that `roots` or results depend on, by identity."""
        unread = [*roots, *self._results.operations]
        needed: set[int] = set()
        outputs = self._outputs_of_bodies()
        while unread:
            operation = unread.pop()
            if id(operation) not in needed:
                needed.add(id(operation))
                unread += [
                    *operation.sources,
                    *operation.after,
                    *(source for source, _ in given_by_scopes(operation.context)),
                ]
                for body in bodies_of(operation.context):
                    unread += outputs[body_key(body)]
        return needed

    def _outputs_of_bodies(self) -> Mapping[Hashable, list[Operation]]:
        """Return the operations that leave each conditional, loop or call.

        It computes all of them or none.
        """
        outputs: dict[Hashable, list[Operation]] = defaultdict(list)
        for operation in self._computation.operations:
            depth = len(bodies_of(operation.context))
            for source in operation.sources:
                for body in bodies_of(source.context)[depth:]:
                    outputs[body_key(body)].append(source)
        return outputs


def order_of(program: Program, computation: Computation) -> HappensBefore:
    """Return the order of a computation that has been read to its end."""
    order: HappensBefore | None = program.answers.get((HappensBefore, computation))
    if order is None:
        order = program.answers[HappensBefore, computation] = HappensBefore(computation)
    return order


@dataclass(frozen=True, eq=False)
class _RegionAtPlace:
    """A region on the runs that reach `place`."""

    computation_order: HappensBefore
    region: GraphRegion
    place: Context

    @property
    def is_top(self) -> bool:
        return self.region.is_top

    @property
    def host_nodes(self) -> list[GraphNode]:
        return self.region.host_nodes

    def cluster_of(self, node: GraphNode) -> Cluster | None:
        return node.cluster

    def sources(self, node: GraphNode) -> list[Edge[GraphNode]]:
        return node.sources

    def users(self, node: GraphNode) -> list[Edge[GraphNode]]:
        return node.users

    def is_live(self, node: GraphNode) -> bool:
        return self.computation_order.is_live(node)

    def is_result(self, node: GraphNode) -> bool:
        return node.is_result

    def is_taken(self, node: GraphNode) -> bool:
        return node.is_taken

    def is_waited_for(self, node: GraphNode) -> bool:
        return node.is_waited_for

    def holds(self, edge: Edge[GraphNode]) -> Truth:
        contexts = (edge.source.context, edge.user.context)
        always = edge.is_certain and all(
            context.reached_whenever(self.place) for context in contexts
        )
        return Truth.YES if always else Truth.MAYBE

    def takes_from_device(self, node: GraphNode) -> Truth:
        # Where an argument of the cluster is not known, the device may have computed it.
        is_vague = node.cluster is not None and node.cluster.vague
        computed = any3(self._is_computed(edge.source) for edge in node.sources)
        return any3([computed, Truth.MAYBE if is_vague else Truth.NO])

    def _is_computed(self, node: GraphNode) -> Truth:
        """Return whether the device makes this: what is unseen may hand on what it got."""
        if node.cluster is not None:
            return Truth.NO
        if not all(operation.unseen for operation in node.operations):
            return Truth.YES
        handed_on = any3(self._is_computed(edge.source) for edge in node.sources)
        return any3([Truth.MAYBE, handed_on])

    def lead_to_device(self, edges: Iterable[Edge[GraphNode]]) -> Truth:
        """Return whether edges lead to the device, and there to what is not pruned.

        Whichever branch of Python is taken, one of them may be there.
        """
        to_device = [
            edge for edge in edges if edge.user.cluster is None and self.is_live(edge.user)
        ]
        if not to_device:
            return Truth.NO
        certain = [edge for edge in to_device if edge.is_certain]
        is_met = all(edge.source.context.reached_whenever(self.place) for edge in certain)
        users = [edge.user.context for edge in certain]
        return Truth.YES if certain and is_met and cover(users, self.place) else Truth.MAYBE
