"""Checks, before a step is made, for what TensorFlow's Python builds but its C++ refuses.

The texts about devices are those of TensorFlow's distributed rewrite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from tpulint.runtime.emulate.system import current_system
from tpulint.runtime.errors import DeviceAssignmentError, EscapedTensorError, joined
from tpulint.runtime.mark import attributes, escaping
from tpulint.runtime.mark.context import TPUReplicateContext
from tpulint.runtime.mark.marked import Marked
from tpulint.runtime.source_location import is_of_gradient, place_of_operation
from tpulint.runtime.tensorflow_internals import functions, graphs
from tpulint.runtime.tensorflow_internals.operations import operations_of

_Refused = joined(DeviceAssignmentError, tf.errors.InvalidArgumentError)


def check(context: TPUReplicateContext, marked: Marked, assignment: Any) -> None:
    """Raise the error of the first fault of the computation `marked`, made in `context`.

    Raises:
        DeviceAssignmentError: the replicas do not fit the assignment, or a core is not there.
        EscapedTensorError: a host tensor that no cluster returned is used on the device, or a
            tensor of a branch or a loop's body is an output.
        ValueError: an output is of another graph.
    """
    _check_outputs(marked)
    escaping.check_flat(context.operations, marked.outputs)
    _check_assignment(assignment, context.num_replicas)
    _check_cores(context, assignment.num_cores_per_replica if assignment is not None else 1)
    _check_side_doors(context)


def _check_outputs(marked: Marked) -> None:
    for tensor in marked.outputs:
        if tensor.graph is not marked.graph:
            made = tensor.op.inputs[0]
            text = (
                f"{made!r} is out of scope and cannot be used here: it was defined in "
                f"{made.graph}, and not in {marked.graph}"
            )
            rule = escaping.rule_of_tensor(made, marked.graph)
            if rule is None:
                raise ValueError(text)
            raise EscapedTensorError(text, place=place_of_operation(made.op), rule=rule)


def _check_assignment(assignment: Any, num_replicas: int) -> None:
    if assignment is None:
        _check_is_whole_topology(num_replicas)
        return
    cores = assignment.core_assignment
    coordinates = cores.reshape(-1, cores.shape[-1]).tolist()
    per_replica = assignment.num_cores_per_replica
    system, topology = current_system(), assignment.topology
    # The cores of the system that runs it, of which the topology in the assignment may not be.
    in_topology = system.num_cores if system else topology.num_tasks * topology.num_tpus_per_task
    if num_replicas > in_topology:
        raise _Refused(
            f"Requested num_replicas={num_replicas} but there are only {in_topology} cores in "
            "the TPU topology."
        )
    if num_replicas * per_replica > in_topology:
        raise _Refused(
            f"Requested num_replicas={num_replicas} with {per_replica} cores per replica, but "
            f"there are only {in_topology} cores in the TPU topology."
        )
    if len(coordinates) != num_replicas * per_replica:
        raise _Refused(
            "Length of device_assignment attribute must be equal to num_replicas "
            f"({num_replicas}) * num_cores_per_replica ({per_replica}) * {cores.shape[-1]} "
            f"got {cores.size}"
        )
    twice = [c for c, count in Counter(map(tuple, coordinates)).items() if count > 1]
    if twice:
        raise _Refused(f"Duplicate coordinates in device_assignment: {', '.join(map(str, twice))}")


def _check_is_whole_topology(num_replicas: int) -> None:
    system = current_system()
    if system is None or num_replicas in (1, system.num_cores):
        return
    if num_replicas > system.num_cores:
        raise _Refused(
            f"Requested num_replicas={num_replicas} but there are only {system.num_cores} cores "
            "in the TPU topology."
        )
    raise _Refused(
        f"TPUReplicate asked to create {num_replicas} replicas, but the number of cores in the "
        f"TPU topology is {system.num_cores} and no TPU device assignment was supplied. A TPU "
        "device assignment is required if the number of replicas is not 1 or the number of cores "
        f"in the topology ({system.num_cores})"
    )


def _check_cores(context: TPUReplicateContext, cores: int) -> None:
    for op in context.operations:
        if "TPU_REPLICATED_CORE" not in op.device:
            continue
        device = graphs.DeviceSpec.from_string(op.device)
        if (device.device_index or 0) >= cores:
            raise _Refused(
                f"Invalid core ID: {device.device_index}. The valid core IDs are [0..{cores})",
                place=place_of_operation(op),
            )


def _check_side_doors(context: TPUReplicateContext) -> None:
    returned = context.clusters.returned
    if returned is None or not context.clusters.count:
        return
    for op in _with_bodies(context.operations):
        if _is_host(op):
            continue
        for tensor in op.inputs:
            if not _is_host(tensor.op) or (id(tensor.graph), tensor.name) in returned:
                continue
            # The guard of a branch or a loop is marked as what needed it first.
            if tensor.op.type in escaping.GUARDS:
                continue
            # The gradient of a host operation may take any tensor: TPU206 covers that.
            if "." in _cluster(tensor.op) or _takes_for_gradient(op, tensor):
                continue
            raise EscapedTensorError(
                f"The tensor {tensor.name} was made in an outside_compilation cluster that does "
                f"not return it, and {op.name} uses it on the device",
                place=place_of_operation(op),
                rule="TPU207",
            )


def _takes_for_gradient(op: Any, tensor: Any) -> bool:
    """Return whether only gradients take `tensor`: by `op`, or in its branches and bodies."""
    if is_of_gradient(op):
        return True
    takers = [
        (user, inner)
        for graph in functions.function_graphs(op)
        for outer, inner in graph.captures
        if outer is tensor
        for user in inner.consumers()
    ]
    return bool(takers) and all(_takes_for_gradient(user, inner) for user, inner in takers)


def _with_bodies(operations: Iterable[Any]) -> Iterator[Any]:
    """Yield `operations`, and those in the functions that the device's hold."""
    unread, seen = list(operations), set()
    while unread:
        op = unread.pop()
        yield op
        for graph in [] if _is_host(op) else functions.function_graphs(op):
            if id(graph) not in seen:
                seen.add(id(graph))
                unread += operations_of(graph)


def _is_host(op: Any) -> bool:
    return bool(_cluster(op))


def _cluster(op: Any) -> str:
    try:
        name: bytes = op.get_attr(attributes.OUTSIDE)
    except ValueError:
        return ""
    return name.decode()
