"""The graph of a region, as TensorFlow's passes see it when they order its host operations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tpulint.ordering.host_order import Edge, HostOrder
from tpulint.ordering.truth import Truth
from tpulint.runtime.extract.region import Operation, Region

_REMOVED = ("_tpu_input_identity", "_tpu_output_identity")
"""The Identity operations at arguments and results, which TensorFlow removes before it looks."""


class RegionGraph:
    """The graph of a finished region, in which every edge is certain. Its nodes are names."""

    def __init__(self, region: Region, *, is_top: bool) -> None:
        self.is_top = is_top
        self._region = region
        self._clusters = {op.name: region.cluster_of(op) for op in region.ops}
        self.host_nodes = [name for name, cluster in self._clusters.items() if cluster is not None]
        self._sources: dict[str, list[Edge[str]]] = {}
        self._users: dict[str, list[Edge[str]]] = defaultdict(list)
        for op in region.ops:
            self._sources[op.name] = self._edges_to(op)
            if not self._is_removed(op):
                for edge in self._sources[op.name]:
                    self._users[edge.source].append(edge)
        self._results = {self._made_by(tensor.op) for tensor in region.outputs}

    def order(self) -> HostOrder[str]:
        """Return the order of the host operations."""
        return HostOrder(self)

    def cluster_of(self, node: str) -> str | None:
        return self._clusters[node]

    def sources(self, node: str) -> Sequence[Edge[str]]:
        return self._sources[node]

    def users(self, node: str) -> Sequence[Edge[str]]:
        return self._users.get(node, ())

    def holds(self, edge: Edge[str]) -> Truth:
        return Truth.YES if edge.is_certain else Truth.MAYBE

    def takes_from_device(self, node: str) -> Truth:
        sources = (edge.source for edge in self._sources[node])
        return Truth.YES if any(self._clusters[name] is None for name in sources) else Truth.NO

    def lead_to_device(self, edges: Iterable[Edge[str]]) -> Truth:
        users = (edge.user for edge in edges)
        return Truth.YES if any(self._clusters[name] is None for name in users) else Truth.NO

    def is_live(self, node: str) -> bool:
        return node in self._clusters  # a region has only what is needed

    def is_result(self, node: str) -> bool:
        return node in self._results

    def is_taken(self, node: str) -> bool:
        # The results of a body are those of a conditional or a loop, which the device computes.
        return node in self._results and not self.is_top

    def is_waited_for(self, node: str) -> bool:
        return False

    def _edges_to(self, op: Operation) -> list[Edge[str]]:
        sources = [(tensor.op, True) for tensor in op.inputs]
        sources += [(source, False) for source in op.control_inputs]
        edges: list[Edge[str]] = []
        for source, is_data in sources:
            if source.name not in self._region.names:
                continue
            if not self._is_removed(source):
                edges.append(Edge(source.name, op.name, is_data))
                continue
            # Its own edges, as if `op` had them.
            for edge in self._sources[source.name]:
                edges.append(Edge(edge.source, op.name, is_data and edge.is_data))
        return edges

    def _is_removed(self, op: Operation) -> bool:
        attributes = self._region.nodes[op.name].attr
        return any(mark in attributes for mark in _REMOVED)

    def _made_by(self, op: Operation) -> str:
        """Return the name of what makes the results of `op`, past removed Identity operations."""
        while op.name in self._region.names and self._is_removed(op):
            op = op.inputs[0].op
        name: str = op.name
        return name
