"""The program of one replica, as the marks in a graph describe it, and the replicas' cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import tensorflow as tf

from tpulint.ordering import FEEDS
from tpulint.runtime.extract.bodies import walk_operations
from tpulint.runtime.extract.constants import DeviceConstant, captured_constants
from tpulint.runtime.extract.copying import inputs_of
from tpulint.runtime.extract.flat import is_flat, reached_operations
from tpulint.runtime.extract.functionalize import functionalize
from tpulint.runtime.extract.kernels import find_automatic_clusters, refuse_endless_tracing
from tpulint.runtime.extract.order import UnorderedAccesses
from tpulint.runtime.extract.region import (
    Operation,
    Region,
    Tensor,
    graph_nodes,
    in_program_order,
    needed_operations,
)
from tpulint.runtime.mark.marked import REPLICATE, Marked
from tpulint.runtime.pods import devices
from tpulint.runtime.tensorflow_internals import graphs
from tpulint.runtime.tensorflow_internals.tpu import Topology

# The number that TensorFlow's default placement of an infeed queue assumes (tpu_feed.py).
_CORES_PER_HOST = 8


def find_feeds(region: Region) -> frozenset[Operation]:
    """Return the infeed and outfeed operations of `region` and of the bodies in it."""
    return frozenset(op for _, op in walk_operations(region, region.ops) if op.type in FEEDS)


def core_number(task: int, ordinal: int) -> int:
    """Return the number among all cores of the core `ordinal` of the host `task`."""
    return task * cores_of_this_host() + ordinal


def cores_of_this_host() -> int:
    """Return the number of cores of each host."""
    return devices.cores_of_a_host(_CORES_PER_HOST)


def cores_of_replicas(marked: Marked, logical_core: int) -> tuple[int, ...]:
    """Return for each replica the number of its core for `logical_core`."""
    assigned = marked.metadata.get_attr("device_assignment")
    if not assigned:
        return tuple(range(marked.num_replicas))
    topology = Topology(serialized=marked.metadata.get_attr("topology"))
    per_replica = marked.metadata.get_attr("num_cores_per_replica")
    cores = np.reshape(assigned, [-1, per_replica, topology.mesh_rank])
    return tuple(
        core_number(
            topology.task_ordinal_at_coordinates(replica[logical_core]),
            topology.tpu_device_ordinal_at_coordinates(replica[logical_core]),
        )
        for replica in cores
    )


def replica_names(marked: Marked) -> tuple[str, ...]:
    """Return the name of each replica: "replica 2", or "replica 2 (/job:worker/.../task:1)"."""
    cores = cores_of_replicas(marked, logical_core=0)
    hosts = map(devices.remote_host_of_core, cores)
    return tuple(
        f"replica {replica} ({host})" if host else f"replica {replica}"
        for replica, host in enumerate(hosts)
    )


_NOT_RUN = frozenset({"TPUReplicateMetadata", "TPUCompilationResult", "TPUReplicatedOutput"})


@dataclass(frozen=True, eq=False)
class ReplicatedProgram:
    """`region` is the computation; every replica runs it, with its own tensors at `boundary`."""

    marked: Marked
    region: Region
    boundary: Mapping[str, tuple[Tensor, ...]]
    """For each name of `region.inputs` one tensor of the marked graph a replica."""
    of_strategy: frozenset[str]
    """Names of `region.inputs` that are handles of a strategy's variables, one a replica."""
    mirrored: frozenset[str]
    """The mirrored ones among them: all replicas are meant to have the same value."""
    variable_names: Mapping[str, tuple[str, str]]
    """The names and ids of a strategy's variables, as far as they are known, by their handles."""
    constants: Mapping[str, DeviceConstant]
    """The inputs of `region` that are constants of the code around the computation."""
    unordered: Sequence[UnorderedAccesses] = ()
    """Accesses in branches of TensorFlow 1 conditionals that nothing orders."""

    @property
    def num_replicas(self) -> int:
        return self.marked.num_replicas


def extract(marked: Marked) -> ReplicatedProgram:
    """Return the program that `marked` describes."""
    # In a tf.function the order of the program is the order of its effects.
    if marked.in_function:
        refuse_endless_tracing(marked.graph.get_operations())
        graphs.add_automatic_dependencies(marked.graph)
    marked_region, from_outside = _marked_region(marked)
    region, unordered = marked_region, list[UnorderedAccesses]()
    if is_flat(region.ops):
        region, unordered = functionalize(region)
    # Rebuilding gives the inputs other names, in the same order.
    names_inside = dict(zip(marked_region.inputs, region.inputs, strict=True))
    if marked.metadata.get_attr("allow_soft_placement"):
        region = replace(region, automatic=find_automatic_clusters(region))
    # Not only those that `replicate` made: Mesh TensorFlow makes its own around the computation.
    replicated = {
        names_inside[name]: tensor.op
        for name, tensor in from_outside.items()
        if tensor.op.type == "TPUReplicatedInput"
    }
    inputs = {names_inside[name]: tensor for name, tensor in from_outside.items()}
    boundary = {}
    for name, tensor in inputs.items():
        # All replicas share packed handles and captured tensors.
        tensors = tuple(replicated[name].inputs) if name in replicated else (tensor,)
        is_whole = len(tensors) == marked.num_replicas
        boundary[name] = tensors if is_whole else tensors * marked.num_replicas
    return ReplicatedProgram(
        marked=marked,
        region=region,
        boundary=boundary,
        of_strategy=frozenset(
            name for name, op in replicated.items() if _is_replicated_variable(marked, op)
        ),
        mirrored=frozenset(
            name for name, op in replicated.items() if op.get_attr("is_mirrored_variable")
        ),
        variable_names={
            name: marked.variable_names[op.name]
            for name, op in replicated.items()
            if op.name in marked.variable_names
        },
        constants=captured_constants(inputs),
        unordered=unordered,
    )


def _marked_region(marked: Marked) -> tuple[Region, dict[str, Tensor]]:
    """Return the region of what TensorFlow runs of `marked`, and the tensors it takes, by name."""
    nodes = graph_nodes(marked.graph)
    cluster = marked.cluster.encode()

    def inside(op: Operation) -> bool:
        attrs = nodes[op.name].attr
        return REPLICATE in attrs and attrs[REPLICATE].s == cluster and op.type not in _NOT_RUN

    outputs = [tensor.op for tensor in marked.outputs]
    built = {op.name: op for op in marked.graph.get_operations() if inside(op)}
    # Which branches run is known only by the Switches, so what is needed is found by other rules.
    if is_flat(built.values()):
        ops = reached_operations(in_program_order(marked.graph, built), outputs)
    else:
        live = needed_operations([*outputs, *marked.control_outputs], inside)
        ops = in_program_order(marked.graph, live)
    own = {op.name for op in ops}
    # A computation may return what it is given.
    from_outside = inputs_of(ops) | {
        out.name: out for out in marked.outputs if out.op.name not in own
    }
    return Region(marked.graph, ops, tuple(from_outside), marked.outputs, nodes), from_outside


def _is_replicated_variable(marked: Marked, op: Operation) -> bool:
    """Return whether `op` gives each replica the handle of its own copy of a variable."""
    # A mirrored variable may also be passed as an argument, as its handle.
    if op in marked.replicated_inputs:
        return bool(op.get_attr("is_mirrored_variable"))
    return bool(op.outputs[0].dtype == tf.resource)
