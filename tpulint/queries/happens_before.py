"""When the operations of host clusters run, on every run that reaches a place or on some.

The graphs are those that TensorFlow's passes see: of a computation, or of one body in it. A
conditional, a loop or a call is one node of the graph around it; what is in its bodies is a graph
of its own. Edges are data, `control_dependencies`, and in a tf.function those that TensorFlow adds
itself (tensorflow/python/framework/auto_control_deps.py). The order is `ordering`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, takewhile

from tpulint.absint.domain import context as scopes
from tpulint.absint.domain.events import (
    Access,
    Cluster,
    Computation,
    Context,
    Operation,
    Tensor,
    Variable,
)
from tpulint.absint.domain.objects import ExternalObject, Instance, Mapping, Sequence
from tpulint.absint.domain.structures import parts, with_alternatives
from tpulint.absint.domain.values import UNKNOWN, Const, Opaque, Value
from tpulint.frontends.tensorflow.knowledge.tf_names import HOST_FUNCTIONS
from tpulint.frontends.tensorflow.program import Program, answered_once
from tpulint.ordering import Edge, HostOrder, Phase, Placement, Truth, any3, reachable
from tpulint.queries.device_code import is_certain_access, is_order_relevant, share_loop

BODIES = (scopes.COND, scopes.WHILE, scopes.FUNCTION)


@dataclass(eq=False)
class GraphNode:
    """An operation of the region, or a conditional, loop or call with all that is in it.

    cluster: the host cluster it belongs to. is_result: the computation gives it out. is_taken: the
    device takes it to where the region itself is an operation, or out of a structure.
    is_waited_for: the results of the body, which the device computes, wait for it.
    """

    cluster: Cluster | None
    operations: list[Operation] = field(default_factory=list)
    sources: list[Edge[GraphNode]] = field(default_factory=list)
    users: list[Edge[GraphNode]] = field(default_factory=list)
    is_taken: bool = False
    is_waited_for: bool = False
    is_result: bool = False

    @property
    def context(self) -> Context:
        return self.operations[0].context


class GraphRegion:
    """The nodes of one graph of `computation`: in `bodies`, outermost first; none is the whole."""

    def __init__(self, computation: Computation, bodies: tuple[scopes.Scope, ...]) -> None:
        self.computation = computation
        self._bodies = bodies
        self.is_top = not bodies and computation.kind != "model_fn"
        self._nodes: dict[Hashable, GraphNode] = {}
        self._of: dict[int, GraphNode] = {}
        for operation in computation.operations:
            self._add(operation)
        for operation in computation.operations:
            self._connect(operation)
        if self._orders_by_itself:
            self._order_touches()
            self._order_effects()
            self._order_results()

    def nodes(self, operations: Iterable[Operation | None]) -> Iterator[GraphNode]:
        """Yield the nodes that are or hold `operations`, as far as these are in this region."""
        return (self._of[id(operation)] for operation in operations if id(operation) in self._of)

    @property
    def host_nodes(self) -> list[GraphNode]:
        """The nodes of host clusters."""
        return [node for node in self._nodes.values() if node.cluster is not None]

    def _add(self, operation: Operation) -> None:
        key, cluster = self._place(operation.context)
        if key == OUTSIDE:
            return
        node = self._nodes.setdefault(key or id(operation), GraphNode(cluster))
        node.operations.append(operation)
        self._of[id(operation)] = node

    def _place(self, context: Context) -> tuple[Hashable, Cluster | None]:
        """Return the key of the body of this region that `context` is in, and the host cluster."""
        left = list(self._bodies)
        cluster: Cluster | None = None
        for scope in scopes_of(context):
            if isinstance(scope.payload, Cluster) and cluster is None:
                cluster = scope.payload
            if scope.kind not in BODIES:
                continue
            if not left:
                return body_key(scope), cluster
            if left.pop(0) is not scope:
                return OUTSIDE, None
        return (OUTSIDE if left else None), cluster

    def _connect(self, operation: Operation) -> None:
        node = self._of.get(id(operation))
        for source in operation.sources:
            self._edge(source, node, is_data=True, is_certain=not operation.unseen)
        for source in operation.after:
            self._edge(source, node, is_data=False, is_certain=True)
        if node is not None:
            for source, is_certain in given_by_scopes(operation.context):
                self._edge(source, node, is_data=False, is_certain=is_certain)

    def _edge(
        self, source: Operation, user: GraphNode | None, *, is_data: bool, is_certain: bool
    ) -> None:
        before = self._of.get(id(source))
        if before is None or before is user:
            return
        if user is None:
            before.is_taken = True
        else:
            _join(before, user, is_data, is_certain)

    @property
    def _orders_by_itself(self) -> bool:
        """Return whether TensorFlow adds control edges: not in a graph of TensorFlow 1."""
        if any(scope.kind == scopes.FUNCTION for scope in self._bodies):
            return True
        context = self.computation.context
        in_graph = any(scope.effect == scopes.GRAPH for scope in context.scopes)
        return self.computation.mode == "function" and (context.traced or not in_graph)

    def _order_touches(self) -> None:
        before: list[tuple[Access, GraphNode]] = []
        for access in self.computation.accesses:
            node = self._of.get(id(access.operation))
            if node is None:
                continue
            for place, (other, earlier) in enumerate(before):
                if earlier is node or not is_order_relevant(other, access):
                    continue
                if share_loop(other.context, access.context):
                    _join(node, earlier, False, False)  # of the next round
                elif any(_is_between(other, it, access) for it, _ in before[place + 1 :]):
                    continue
                _join(earlier, node, False, is_certain_access(other) and is_certain_access(access))
            before.append((access, node))

    def _order_effects(self) -> None:
        operations = self.computation.operations
        for before, node in pairwise(self.nodes(it for it in operations if it.ordered)):
            if before is not node:
                _join(before, node, False, True)

    def _order_results(self) -> None:
        """Order the results of a conditional, loop or call after its effects."""
        if not self._bodies:
            return
        effects = [access.operation for access in self.computation.accesses]
        effects += [it for it in self.computation.operations if it.ordered or it.kept]
        for node in self.nodes(effects):
            node.is_waited_for = True


OUTSIDE = "outside"


def scopes_of(context: Context) -> list[scopes.Scope]:
    """Return the scopes in the innermost computation, outermost first."""
    return list(context.since(scopes.COMPUTATION))[::-1]


def bodies_of(context: Context) -> list[scopes.Scope]:
    """Return the bodies of conditionals, loops and calls around an operation, outermost first."""
    return [scope for scope in scopes_of(context) if scope.kind in BODIES]


def bodies_around(cluster: Cluster) -> tuple[scopes.Scope, ...]:
    """Return the bodies of conditionals, loops and calls around the cluster, outermost first."""
    around = takewhile(lambda scope: scope.kind != scopes.CLUSTER, scopes_of(cluster.context))
    return tuple(scope for scope in around if scope.kind in BODIES)


def given_by_scopes(context: Context) -> list[tuple[Operation, bool]]:
    """Return what an operation waits for because of where it is built, and if it surely does.

    These are explicit dependencies, and the tensors that decide on a body.
    """
    operations: list[tuple[Operation, bool]] = []
    for scope in scopes_of(context):
        if scope.effect in (scopes.CLEARS, scopes.INIT_SCOPE):
            operations = []
        elif isinstance(scope.payload, Value):
            is_dependency = scope.effect == scopes.DEPENDENCIES
            is_sure = not (is_dependency and scope.is_uncertain)
            if is_dependency or scope.kind in (scopes.COND, scopes.WHILE):
                operations += [
                    (tensor.operation, is_sure and not alternative)
                    for tensor, alternative in with_alternatives(scope.payload)
                    if tensor.operation is not None
                ]
    return operations


def _is_between(first: Access, between: Access, last: Access) -> bool:
    """Return whether `first` and `last` are in order by `between` alone, which writes both."""
    return (
        between.mode == "write"
        and first.variable is between.variable is last.variable
        and is_certain_access(between)
        and between.context.reached_whenever(first.context)
        and between.context.reached_whenever(last.context)
    )


def body_key(scope: scopes.Scope) -> Hashable:
    """Return what the bodies of one conditional, loop or call share.

    That of a conditional is the very tensor that decides.
    """
    decides = scope.payload
    is_shared = (
        scope.kind == scopes.COND
        and isinstance(decides, Value)
        and all(isinstance(option, (Tensor, Opaque)) for option in decides.options)
    )
    return scope.site, id(decides if is_shared else scope)


def _join(source: GraphNode, user: GraphNode, data: bool, is_certain: bool) -> None:
    edge = Edge(source, user, data, is_certain)
    source.users.append(edge)
    user.sources.append(edge)


def _is_flat(value: Value) -> bool:
    if not isinstance(value, Sequence):
        return not isinstance(value, Mapping)
    inner = (option for item in value.items for option in item.options)
    return not any(isinstance(option, (Sequence, Mapping)) for option in inner)


def _leaves(value: Value, depth: int = 5) -> Iterator[Value]:
    for option in value.options:
        inner: list[Value] | None = None
        if isinstance(option, (Sequence, Mapping)):
            inner = [*parts(option), *([UNKNOWN] if option.open else [])]
        elif isinstance(option, (ExternalObject, Instance)):
            inner = [*option.attributes.values(), UNKNOWN]
            if isinstance(option, ExternalObject):
                inner += [value for _, value in option.arguments]
        if inner is None or not depth:
            yield option
        else:
            for part in inner:
                yield from _leaves(part, depth - 1)


class HappensBefore:
    """The order of the operations of one computation."""

    def __init__(self, computation: Computation) -> None:
        self._computation = computation
        self._regions: dict[tuple[int, ...], GraphRegion] = {}
        self._orders: dict[tuple[int, int], HostOrder[GraphNode]] = {}
        value = computation.result if computation.result is not None else UNKNOWN
        leaves = list(_leaves(value))
        # What makes the results, and whether it is known that there are no others.
        operations = [leaf.operation for leaf in leaves if isinstance(leaf, Tensor)]
        self._results = tuple(filter(None, operations))
        self._are_complete = all(isinstance(leaf, (Tensor, Variable, Const)) for leaf in leaves)
        # TensorFlow hands out results as they are where no structure holds another
        # (tensorflow/python/tpu/tpu.py, _postprocess_non_flat_outputs).
        self._are_flat = all(map(_is_flat, value.options))
        # TensorFlow never prunes the effects.
        effects = [it for it in computation.operations if it.unseen or it.ordered or it.kept]
        touches = [access.operation for access in computation.accesses]
        self._live = self._needed_by([*filter(None, touches), *effects])

    def is_live(self, node: GraphNode) -> bool:
        """Return whether anything comes of the node: TensorFlow prunes the others."""
        return not self._are_complete or any(id(it) in self._live for it in node.operations)

    @cached_property
    def needed(self) -> set[int]:
        """The operations that the results certainly need, by identity."""
        return self._needed_by([])

    def placement(self, access: Access) -> Placement | None:
        """Return when an access of a host cluster runs; None where no graph orders it."""
        cluster = access.context.cluster
        if cluster is None or cluster.kind in HOST_FUNCTIONS:
            return None
        while cluster.parent is not None:
            cluster = cluster.parent
        region = self._region(bodies_around(cluster))
        for node in region.nodes([access.operation]):
            if node.cluster is not None:
                return self._order(region, access.context).placement(node)
        return None

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
            graph = _RegionAtPlace(self, place, region.is_top, region.host_nodes)
            self._orders[key] = HostOrder(graph)
        return self._orders[key]

    def _region(self, bodies: tuple[scopes.Scope, ...]) -> GraphRegion:
        key = tuple(id(scope) for scope in bodies)
        if key not in self._regions:
            region = self._regions[key] = GraphRegion(self._computation, bodies)
            for node in region.nodes(self._results):
                node.is_result = True
                node.is_taken = node.is_taken or not (self._are_flat and region.is_top)
        return self._regions[key]

    def _needed_by(self, roots: list[Operation]) -> set[int]:
        """Return the operations that `roots` or results depend on, by identity."""
        outputs = self._outputs_of_bodies()

        def needs(operation: Operation) -> Iterator[Operation]:
            yield from (*operation.sources, *operation.after)
            yield from (source for source, _ in given_by_scopes(operation.context))
            for body in bodies_of(operation.context):
                yield from outputs[body_key(body)]

        return set(map(id, reachable([*roots, *self._results], needs, id)))

    def _outputs_of_bodies(self) -> MappingOf[Hashable, list[Operation]]:
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


@answered_once
def order_of(program: Program, computation: Computation) -> HappensBefore:
    """Return the order of a computation that has been read to its end."""
    return HappensBefore(computation)


@dataclass(frozen=True, eq=False)
class _RegionAtPlace:
    """A region on the runs that reach `place`."""

    computation_order: HappensBefore
    place: Context
    is_top: bool
    host_nodes: list[GraphNode]

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
        always = edge.is_certain and all(it.reached_whenever(self.place) for it in contexts)
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
        return Truth.YES if certain and is_met and scopes.cover(users, self.place) else Truth.MAYBE
