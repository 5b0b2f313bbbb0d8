"""The graph of a computation, or of one body in it, as TensorFlow's passes see it.

A conditional, a loop or a call is one node of the graph around it; what is in its bodies is a graph
of its own. Edges are data, `control_dependencies`, and in a tf.function those that TensorFlow adds
itself (tensorflow/python/framework/auto_control_deps.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from tpulint.absint.domain.context import (
    CLEARS,
    CLUSTER,
    COMPUTATION,
    COND,
    DEPENDENCIES,
    FUNCTION,
    GRAPH,
    INIT_SCOPE,
    WHILE,
    Scope,
)
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
from tpulint.absint.domain.structures import with_alternatives
from tpulint.absint.domain.values import UNKNOWN, Const, Opaque, Value, options
from tpulint.ordering import Edge
from tpulint.queries.device_code import is_certain_access, is_order_relevant, share_loop

BODIES = (COND, WHILE, FUNCTION)


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

    def __init__(self, computation: Computation, bodies: tuple[Scope, ...]) -> None:
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

    def node(self, operation: Operation) -> GraphNode | None:
        """Return the node that is or holds `operation`; None where it is not in this region."""
        return self._of.get(id(operation))

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
            self._edge(source, node, data=True, is_certain=not operation.unseen)
        for source in operation.after:
            self._edge(source, node, data=False, is_certain=True)
        if node is None:
            return
        for source, is_certain in given_by_scopes(operation.context):
            self._edge(source, node, data=False, is_certain=is_certain)

    def _edge(
        self, source: Operation, user: GraphNode | None, *, data: bool, is_certain: bool
    ) -> None:
        before = self._of.get(id(source))
        if before is None or before is user:
            return
        if user is None:
            before.is_taken = True
        else:
            _join(before, user, data, is_certain)

    @property
    def _orders_by_itself(self) -> bool:
        """Return whether TensorFlow adds control edges: not in a graph of TensorFlow 1."""
        if any(scope.kind == FUNCTION for scope in self._bodies):
            return True
        context = self.computation.context
        in_graph = any(scope.effect == GRAPH for scope in context.scopes)
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
                elif any(
                    _is_between(other, other_access, access)
                    for other_access, _ in before[place + 1 :]
                ):
                    continue
                _join(earlier, node, False, is_certain_access(other) and is_certain_access(access))
            before.append((access, node))

    def _order_effects(self) -> None:
        before: GraphNode | None = None
        for operation in self.computation.operations:
            node = self._of.get(id(operation))
            if node is None or not operation.ordered:
                continue
            if before is not None and before is not node:
                _join(before, node, False, True)
            before = node

    def _order_results(self) -> None:
        """Order the results of a conditional, loop or call after its effects."""
        if not self._bodies:
            return
        effects = [access.operation for access in self.computation.accesses]
        effects += [
            operation
            for operation in self.computation.operations
            if operation.ordered or operation.kept
        ]
        for operation in effects:
            node = self._of.get(id(operation))
            if node is not None:
                node.is_waited_for = True


OUTSIDE = "outside"


def scopes_of(context: Context) -> list[Scope]:
    """Return the scopes in the innermost computation, outermost first."""
    return list(context.since(COMPUTATION))[::-1]


def bodies_of(context: Context) -> list[Scope]:
    """Return the bodies of conditionals, loops and calls around an operation, outermost first."""
    return [scope for scope in scopes_of(context) if scope.kind in BODIES]


def bodies_around(cluster: Cluster) -> tuple[Scope, ...]:
    """Return the bodies of conditionals, loops and calls around the cluster, outermost first."""
    bodies: list[Scope] = []
    for scope in scopes_of(cluster.context):
        if scope.kind == CLUSTER:
            break
        if scope.kind in BODIES:
            bodies.append(scope)
    return tuple(bodies)


def given_by_scopes(context: Context) -> Iterator[tuple[Operation, bool]]:
    """Yield what an operation waits for because of where it is built.

    These are explicit dependencies, and the tensors that decide on a body.
    """
    operations: list[tuple[Operation, bool]] = []
    for scope in scopes_of(context):
        if scope.effect in (CLEARS, INIT_SCOPE):
            operations = []
        elif isinstance(scope.payload, Value) and scope.effect == DEPENDENCIES:
            made_by = _made_by(scope.payload)
            operations += [
                (operation, is_certain and not scope.is_uncertain)
                for operation, is_certain in made_by
            ]
        elif isinstance(scope.payload, Value) and scope.kind in (COND, WHILE):
            operations += list(_made_by(scope.payload))
    return iter(operations)


def _is_between(first: Access, between: Access, last: Access) -> bool:
    """Return whether `first` and `last` are in order by `between` alone, which writes both."""
    return (
        between.mode == "write"
        and first.variable is between.variable is last.variable
        and is_certain_access(between)
        and between.context.reached_whenever(first.context)
        and between.context.reached_whenever(last.context)
    )


def _made_by(value: Value) -> Iterator[tuple[Operation, bool]]:
    for tensor, alternative in with_alternatives(value):
        if tensor.operation is not None:
            yield tensor.operation, not alternative


def body_key(scope: Scope) -> Hashable:
    """Return what the bodies of one conditional, loop or call share."""
    return scope.site, _identity(scope)


def _identity(scope: Scope) -> int:
    """Return what the bodies of one conditional share: the very tensor that decides."""
    decides = scope.payload
    if scope.kind != COND or not isinstance(decides, Value):
        return id(scope)
    shared = all(isinstance(option, (Tensor, Opaque)) for option in options(decides))
    return id(decides) if shared else id(scope)


def _join(source: GraphNode, user: GraphNode, data: bool, is_certain: bool) -> None:
    edge = Edge(source, user, data, is_certain)
    source.users.append(edge)
    user.sources.append(edge)


@dataclass(frozen=True)
class Results:
    """operations: what makes them. complete: it is known that there are no others.

    flat: no structure holds another, so that TensorFlow hands them out as they are
    (tensorflow/python/tpu/tpu.py, _postprocess_non_flat_outputs).
    """

    operations: tuple[Operation, ...]
    complete: bool
    flat: bool


def results_of(computation: Computation) -> Results:
    value = computation.result if computation.result is not None else UNKNOWN
    leaves = list(_leaves(value))
    operations = [
        leaf.operation for leaf in leaves if isinstance(leaf, Tensor) and leaf.operation is not None
    ]
    complete = all(isinstance(leaf, (Tensor, Variable, Const)) for leaf in leaves)
    return Results(tuple(operations), complete, all(map(_is_flat, options(value))))


def _leaves(value: Value, depth: int = 5) -> Iterator[Value]:
    for option in options(value):
        inner: list[Value] | None = None
        if isinstance(option, Sequence):
            inner = [*option.items, *([UNKNOWN] if option.open else [])]
        elif isinstance(option, Mapping):
            inner = [*option.items.values(), *([UNKNOWN] if option.open else [])]
        elif isinstance(option, (ExternalObject, Instance)):
            inner = [*option.attributes.values(), UNKNOWN]
            if isinstance(option, ExternalObject):
                inner += [value for _, value in option.arguments]
        if inner is None or not depth:
            yield option
        else:
            for each in inner:
                yield from _leaves(each, depth - 1)


def _is_flat(value: Value) -> bool:
    if isinstance(value, Mapping):
        return False
    structures = (Sequence, Mapping)
    return not isinstance(value, Sequence) or not any(
        isinstance(option, structures) for item in value.items for option in options(item)
    )
