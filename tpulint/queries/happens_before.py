"""When the operations of host clusters run: before the device program, with it, or after it.

TensorFlow decides this for each operation by all edges of the graph, data and control
(encapsulate_tpu_computations_pass.cc, MoveHeadOutsideCompilationToHost and
MoveTailOutsideCompilationToHost). What stays between is one transfer for each cluster: the device
waits for it if it takes tensors of it (extract_outside_compilation_pass.cc).

An answer is True where it holds on every run that reaches the operation asked about, False where it
may, None where it does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from tpulint.analysis.domain.context import Scope, cover
from tpulint.analysis.domain.events import Access, Cluster, Computation, Context, Operation
from tpulint.analysis.domain.program import Program
from tpulint.queries.computation_results import Results, results_of
from tpulint.queries.graph_regions import (
    GraphEdge,
    GraphNode,
    GraphRegion,
    bodies_around,
    bodies_of,
    body_key,
    given_by_scopes,
)

OUTFED = ("host_call", "eval_metrics")  # their tensors leave the device for good
BEFORE, AWAITED, AFTER = "before", "awaited", "after"


@dataclass(frozen=True)
class Turn:
    """When an operation of a host cluster runs.

    when: BEFORE the device program; AWAITED by it in its middle; AFTER it, or beside it with nobody
    waiting. is_last: nothing on the device comes after it.
    """

    when: str
    sure: bool
    is_last: bool = False


class HappensBefore:
    """The order of the operations of one computation."""

    def __init__(self, computation: Computation) -> None:
        self._computation = computation
        self._regions: dict[tuple[int, ...], GraphRegion] = {}
        self._results: Results = results_of(computation)
        self._live = self._needed_by(self._effects())

    def is_live(self, node: GraphNode) -> bool:
        """Return whether anything comes of the node: TensorFlow prunes the others."""
        return not self._results.complete or any(id(each) in self._live for each in node.operations)

    def turn(self, access: Access) -> Turn | None:
        """Return when an access of a host cluster runs; None where no graph orders it."""
        cluster = access.context.cluster
        if cluster is None or access.operation is None or cluster.kind in OUTFED:
            return None
        while cluster.parent is not None:
            cluster = cluster.parent
        region = self._region(bodies_around(cluster))
        node = region.node(access.operation)
        return _Question(self, region, access.context).turn(node, cluster) if node else None

    def waits_for(self, cluster: Cluster) -> bool | None:
        """Return whether the device cannot go on before something in the cluster has run."""
        return _best(each.sure for each in self.turns(cluster) if each.when == AWAITED)

    def turns(self, cluster: Cluster) -> list[Turn]:
        """Return when the operations of the cluster run."""
        region = self._region(bodies_around(cluster))
        question = _Question(self, region, cluster.context)
        nodes = {region.node(each) for each in self._computation.operations}
        return [
            question.turn(each, cluster)
            for each in nodes
            if each is not None and each.cluster is cluster
        ]

    def _region(self, bodies: tuple[Scope, ...]) -> GraphRegion:
        key = tuple(id(each) for each in bodies)
        if key not in self._regions:
            made = self._regions[key] = GraphRegion(self._computation, bodies)
            for operation in self._results.operations:
                node = made.node(operation)
                if node is not None:
                    node.is_result = True
                    node.is_taken = node.is_taken or not (self._results.flat and made.is_top)
        return self._regions[key]

    def _effects(self) -> list[Operation]:
        """Return the operations that TensorFlow never prunes."""
        kept = [each.operation for each in self._computation.accesses if each.operation is not None]
        for each in self._computation.operations:
            kept += [each] if each.unseen or each.ordered or each.kept else []
        return kept

    def _needed_by(self, roots: list[Operation]) -> set[int]:
        """Return the operations that `roots` or results depend on, by identity."""
        unread = [*roots, *self._results.operations]
        found: set[int] = set()
        outputs = self._outputs_of_bodies()
        while unread:
            each = unread.pop()
            if id(each) not in found:
                found.add(id(each))
                unread += [
                    *each.sources,
                    *each.after,
                    *(one for one, _ in given_by_scopes(each.context)),
                    *(one for body in bodies_of(each.context) for one in outputs[body_key(body)]),
                ]
        return found

    def _outputs_of_bodies(self) -> Mapping[Hashable, list[Operation]]:
        """Return the operations that leave each conditional, loop or call: all run, or none."""
        found: dict[Hashable, list[Operation]] = defaultdict(list)
        for each in self._computation.operations:
            depth = len(bodies_of(each.context))
            for one in each.sources:
                for body in bodies_of(one.context)[depth:]:
                    found[body_key(body)].append(one)
        return found


def order_of(program: Program, computation: Computation) -> HappensBefore:
    """Return the order of a computation that has been read to its end."""
    found: HappensBefore | None = program.answers.get((HappensBefore, computation))
    if found is None:
        found = program.answers[HappensBefore, computation] = HappensBefore(computation)
    return found


class _Question:
    """When the host operations of a region run, on the runs that reach `place`."""

    def __init__(self, order: HappensBefore, region: GraphRegion, place: Context) -> None:
        self._order = order
        self._region = region
        self._place = place

    def turn(self, node: GraphNode, cluster: Cluster) -> Turn:
        needs_device = self._needs_device(node, cluster)
        if needs_device is None:
            return Turn(BEFORE, sure=True)
        awaited = self._is_awaited(node, cluster)
        if awaited is not None:
            return Turn(AWAITED, sure=awaited and needs_device)
        is_last = self._region.is_top and self._precedes_device(node) is None
        return Turn(AFTER, needs_device, is_last)

    def _needs_device(self, node: GraphNode, cluster: Cluster) -> bool | None:
        """Return how surely a node needs the device beyond its arguments; None if it does not."""
        if not self._region.is_top:
            return True

        def computed(one: GraphNode) -> bool | None:
            return _best(self._is_computed(edge.source) for edge in one.sources)

        found = self._along(node, lambda one: one.sources, computed)
        return False if found is None and cluster.vague else found

    def _is_computed(self, node: GraphNode) -> bool | None:
        """Return whether the device makes this: what is unseen may hand on what it got."""
        if node.cluster is not None:
            return None
        seen = not all(each.unseen for each in node.operations)
        return seen or any(self._is_computed(edge.source) for edge in node.sources)

    def _precedes_device(self, node: GraphNode) -> bool | None:
        """Return how surely something on the device follows the node; None if nothing does."""
        return self._along(node, lambda one: one.users, self._is_followed)

    def _is_awaited(self, node: GraphNode, cluster: Cluster) -> bool | None:
        def waited(one: GraphNode) -> bool | None:
            taken = self._is_taken(one)
            followed = None if taken else self._is_followed(one)
            if followed is None:
                return taken
            others = (
                self._is_taken(each)
                for each in self._region.of_cluster(one)
                if self._needs_device(each, cluster) is not None
            )
            return _both(followed, _best(others))

        return self._along(node, lambda one: one.users, waited)

    def _is_taken(self, node: GraphNode) -> bool | None:
        """Return whether the device takes tensors of it, or what comes after the device does."""
        if node.is_taken:
            return True
        found = [self._counted(each for each in node.users if each.data)]
        given_out = node.is_result or any(each.data and self._is_tail(each) for each in node.users)
        return _best([*found, self._precedes_device(node) if given_out else None])

    def _is_tail(self, edge: GraphEdge) -> bool:
        user = edge.user
        live = user.cluster is not None and self._order.is_live(user)
        return live and self._region.is_top and self._precedes_device(user) is None

    def _is_followed(self, node: GraphNode) -> bool | None:
        return node.is_taken or node.is_waited_for or self._counted(node.users)

    def _counted(self, edges: Iterable[GraphEdge]) -> bool | None:
        """Return whether edges lead to the device, and there to what is not pruned.

        Whichever branch of Python is taken, one of them may be there.
        """
        found = [
            each for each in edges if each.user.cluster is None and self._order.is_live(each.user)
        ]
        sure = [each for each in found if each.sure]
        if not found:
            return None
        met = all(each.source.context.reached_whenever(self._place) for each in sure)
        return bool(sure) and met and cover([each.user.context for each in sure], self._place)

    def _is_sure(self, edge: GraphEdge) -> bool:
        ends = (edge.source.context, edge.user.context)
        return edge.sure and all(each.reached_whenever(self._place) for each in ends)

    def _along(
        self,
        start: GraphNode,
        edges: Callable[[GraphNode], list[GraphEdge]],
        answer: Callable[[GraphNode], bool | None],
    ) -> bool | None:
        """Return the best answer of `start` and the host nodes that `edges` lead to."""
        best: bool | None = None
        for sure in (True, False):
            unread, found = [start], {id(start)}
            while unread:
                one = unread.pop()
                best = _best([best, _both(answer(one), sure)])
                if best:
                    return True
                for edge in edges(one):
                    other = edge.user if edge.source is one else edge.source
                    follows = other.cluster is not None and id(other) not in found
                    if follows and (self._is_sure(edge) or not sure):
                        found.add(id(other))
                        unread.append(other)
        return best


def _best(answers: Iterable[bool | None]) -> bool | None:
    found = [each for each in answers if each is not None]
    return any(found) if found else None


def _both(left: bool | None, right: bool | None) -> bool | None:
    return None if left is None or right is None else left and right
