"""A region: one graph's worth of the program of one replica.

The computation itself is a region, and so is each body of a conditional, a loop or a
function in it. Tensors are named as in GraphDef inputs, but always with their index
("add:0"), because TensorFlow's tensors do not hash.

The operations of one function body are in the program as often as the function is called. A site
names one of these occurrences by the path that leads there from the computation's own operations.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from operator import attrgetter
from typing import Any, TypeVar

import tensorflow as tf

from tpulint.ordering import reachable
from tpulint.runtime.mark.marked import OUTSIDE

T = TypeVar("T", bound=Hashable)


def topological_sort(things: Iterable[T], needs: Callable[[T], Iterable[T]]) -> list[T]:
    """Return `things`, each after those of its `needs` that are among them.

    Among those that are ready the earliest goes first; a cycle stays as it was.
    """
    unsorted = list(things)
    place = {thing: number for number, thing in enumerate(unsorted)}
    sorter = TopologicalSorter(
        {
            thing: [source for source in needs(thing) if source in place and source != thing]
            for thing in unsorted
        }
    )
    with suppress(CycleError):  # loops of TensorFlow 1 are cycles, until they are rebuilt
        sorter.prepare()
    ready: list[int] = []
    ordered: list[T] = []
    while sorter.is_active():
        for thing in sorter.get_ready():
            heapq.heappush(ready, place[thing])
        ordered.append(unsorted[heapq.heappop(ready)])
        sorter.done(ordered[-1])
    # What is in a cycle, or needs one.
    done = set(ordered)
    return ordered + [thing for thing in unsorted if thing not in done]


# The names of the calls, loops and conditionals around an operation, outermost first, each with the
# number of its body that holds the next one, and the operation's own name.
RegionSite = tuple[str | int, ...]

# The number of rounds that each of the loops around has made before, outermost first.
Iteration = tuple[int, ...]


Tensor = Any
Operation = Any
Graph = Any
NodeDef = Any

# An operation among those of all regions of a program.
Key = tuple[int, str]

# The dtypes of tensors that no TPU holds.
NEVER_ON_DEVICE = frozenset({tf.string, tf.complex128})


@dataclass(frozen=True, eq=False)
class AutomaticClusters:
    """The operations of a program that go to the host because no device can run them."""

    clusters: dict[Key, str] = field(default_factory=dict)
    """The host cluster of each."""
    graphs: set[int] = field(default_factory=set)
    """The ids of the graphs that hold some, at any depth."""
    regions: dict[int, Region] = field(default_factory=dict)

    def with_clusters(self, region: Region) -> Region:
        """Return `region`, of a function, as it is in this program."""
        # Without soft placement all programs may share one region of a function.
        if not self.graphs:
            return region
        key = id(region.graph)
        if key not in self.regions:
            self.regions[key] = replace(region, automatic=self)
        return self.regions[key]


# The value where soft placement is off.
NO_AUTOMATIC = AutomaticClusters()


@dataclass(frozen=True, eq=False)
class Region:
    """Operations in program order, their inputs from outside, and their results."""

    graph: Graph
    ops: tuple[Operation, ...]
    inputs: tuple[str, ...]
    """Names of the tensors that are given from outside."""
    outputs: tuple[Tensor, ...]
    nodes: Mapping[str, NodeDef]
    """The NodeDef of each operation of `graph`, by name."""
    automatic: AutomaticClusters = NO_AUTOMATIC
    part_needs: Mapping[str, frozenset[str]] | None = None
    """`needs`, where the region is a part of another one."""

    @staticmethod
    def of(
        graph: Graph,
        ops: Mapping[str, Operation],
        inputs: Iterable[str],
        outputs: Iterable[Tensor] = (),
    ) -> Region:
        """Return the region of `ops`, operations of `graph` by name."""
        ordered = in_program_order(graph, ops)
        return Region(graph, ordered, tuple(inputs), tuple(outputs), graph_nodes(graph))

    @cached_property
    def needs(self) -> Mapping[str, frozenset[str]]:
        """Return for each operation the names of those of the region that it needs."""
        if self.part_needs is not None:
            return self.part_needs
        return {
            op.name: frozenset(source.name for source in sources_of(op)) & self.names
            for op in self.ops
        }

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(op.name for op in self.ops)

    @cached_property
    def position(self) -> Mapping[str, int]:
        """Return the program order: each operation's place among `ops`."""
        return {op.name: place for place, op in enumerate(self.ops)}

    @cached_property
    def used_by(self) -> Mapping[str, frozenset[str]]:
        """Return for each tensor the names of the operations of the region that take it."""
        users: dict[str, set[str]] = defaultdict(set)
        for op in self.ops:
            for tensor in op.inputs:
                users[tensor.name].add(op.name)
        return {name: frozenset(names) for name, names in users.items()}

    @cached_property
    def output_names(self) -> frozenset[str]:
        return frozenset(tensor.name for tensor in self.outputs)

    def is_used_outside(self, tensor: Tensor, ops: frozenset[str]) -> bool:
        """Return whether anything but the operations named `ops` takes `tensor`."""
        used = self.used_by.get(tensor.name, frozenset())
        return tensor.name in self.output_names or not used <= ops

    def cluster_of(self, op: Operation) -> str | None:
        """Return the host cluster of `op`, or None for the device's."""
        attrs = self.nodes[op.name].attr
        if OUTSIDE in attrs:
            name: str = attrs[OUTSIDE].s.decode()
            return name
        if op.type == "Identity" and op.outputs[0].dtype in NEVER_ON_DEVICE:
            # TensorFlow's passes drop it, and move a cluster's end in an output to the host.
            source = op.inputs[0].op
            cluster = self.cluster_of(source) if source.name in self.names else None
            if cluster is not None:
                return cluster
        return self.automatic.clusters.get(key_of(self, op))


def key_of(region: Region, op: Operation) -> Key:
    return id(region.graph), op.name


def needed_operations(
    roots: Iterable[Operation], inside: Callable[[Operation], bool]
) -> dict[str, Operation]:
    """Return `roots` and all that they need, by name, as far as `inside` holds."""

    def needs(op: Operation) -> Iterable[Operation]:
        return filter(inside, sources_of(op))

    needed = reachable(filter(inside, roots), needs, attrgetter("name"))
    return {op.name: op for op in needed}


def sources_of(op: Operation) -> list[Operation]:
    """Return the operations whose tensors `op` takes or that it waits for."""
    return [*(tensor.op for tensor in op.inputs), *op.control_inputs]


def skip_identities(tensor: Tensor) -> Tensor:
    """Return the tensor that Identity operations pass on as `tensor`."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def in_program_order(graph: Graph, operations: Mapping[str, Operation]) -> tuple[Operation, ...]:
    """Return `operations` in the order of their creation, but each after its needs.

    TensorFlow adds control inputs to operations that it has made already.
    """

    def needs(name: str) -> list[str]:
        sources = sources_of(operations[name])
        return [source.name for source in sources if source.type != "NextIteration"]

    names = [op.name for op in graph.get_operations() if op.name in operations]
    return tuple(operations[name] for name in topological_sort(names, needs))


def graph_nodes(graph: Graph) -> dict[str, NodeDef]:
    return {node.name: node for node in graph.as_graph_def().node}
