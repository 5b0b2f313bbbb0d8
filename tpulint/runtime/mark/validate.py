"""Checks for what TensorFlow's Python builds but its C++ refuses, and for tensors out of scope.

The texts about devices are those of TensorFlow's distributed rewrite.

A tensor used where it cannot be falls to the rule of the scope that it left first. One that has
left a branch, a loop or a function inside a host cluster, and with it the cluster, falls to the
cluster's rule (TPU207). One that has left a branch or a loop of the device falls to theirs
(TPU303), whatever is inside of that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from traceback import walk_tb
from types import FrameType
from typing import Any

import tensorflow as tf

from tpulint.runtime import errors
from tpulint.runtime.emulate.system import current_system
from tpulint.runtime.mark.clusters import cluster_of
from tpulint.runtime.mark.context import TPUReplicateContext
from tpulint.runtime.mark.marked import Marked
from tpulint.runtime.source_location import is_of_gradient, operation_location
from tpulint.runtime.tensorflow_internals import graphs, tracebacks
from tpulint.runtime.tensorflow_internals.operations import PLUMBING, operations_of

_FLAT = re.compile(r"Cannot use '([^']+)' as input to '([^']+)'")


@contextmanager
def report_escapes() -> Iterator[None]:
    """Make `EscapedTensorError`s of TensorFlow's: of a tensor used outside what made it."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        is_flat = _FLAT.match(text) or "must be from the same graph as" in text
        if not is_flat and not isinstance(error, tracebacks.InaccessibleTensorError):
            raise
        rule = _rule_of(error, graphs.default_graph())
        if rule is None:
            raise
        raise errors.as_fault(errors.EscapedTensorError, error, rule=rule) from error


def check_scopes(operations: Iterable[Any], outputs: Iterable[Any]) -> None:
    """Raise `EscapedTensorError` if a tensor of a branch or a loop is used outside it.

    TensorFlow 1 lets that pass: one of `operations` takes it, or it is among `outputs`.
    """
    for op in operations:
        if op.type in PLUMBING:
            continue
        around = set(graphs.contexts_outwards(graphs.context_of(op)))
        for tensor in op.inputs:
            left = None if tensor.op.type in PLUMBING else _context_left(tensor.op, around)
            # Gradients take tensors of a branch by way of its Switches. Their stacks are read
            # last, because that takes longest.
            if left is not None and not is_of_gradient(op):
                raise _escape(tensor, left, op)
    for tensor in outputs:
        left = None if tensor.op.type in PLUMBING else _context_left(tensor.op, set())
        if left is not None:
            raise _escape(tensor, left, tensor.op)


def _context_left(op: Any, around: set[Any]) -> Any | None:
    """Return the outermost branch or loop that `op` is made in and that is not `around` its use."""
    left = [
        context
        for context in graphs.contexts_outwards(graphs.context_of(op))
        if context not in around and (context.IsWhileContext() or context.IsCondContext())
    ]
    return left[-1] if left else None


def _escape(tensor: Any, left: Any, user: Any) -> errors.EscapedTensorError:
    kind = "a loop" if left.IsWhileContext() else "a conditional"
    return errors.EscapedTensorError(
        f"{tensor!r} is out of scope and cannot be used here: it was made in {kind}, and "
        f"{user.name} is outside it",
        place=operation_location(user),
        rule=_rule_of_context(left),
    )


def _rule_of(error: ValueError, graph: Any) -> str | None:
    """Return the rule of `error`, which came out of the computation that is built in `graph`."""
    flat = _FLAT.match(str(error))
    if flat:
        producer, user = flat.groups()
        operations = {op.name: op for op in graph.get_operations()}
        around = set(graphs.contexts_outwards(graphs.context_of(graph)))
        if user in operations:
            around |= set(graphs.contexts_outwards(graphs.context_of(operations[user])))
        left = _context_left(operations[producer], around)
        return "TPU303" if left is None else _rule_of_context(left)
    for frame, _ in reversed(list(walk_tb(error.__traceback__))):
        users = [frame.f_locals.get(name) for name in ("self", "graph")]
        functions = (user for user in users if isinstance(user, graphs.FuncGraph))
        used_in = next((user for user in functions if _is_around(graph, user)), graph)
        for tensor in _tensors_in(frame):
            if not _is_around(tensor.graph, used_in):
                return rule_of_tensor(tensor, used_in)
    return "TPU303"


def rule_of_tensor(tensor: Any, used_in: Any) -> str | None:
    """Return the rule for `tensor`, of another graph, where it is used in the graph `used_in`.

    None for one that has left no branch, loop or function, but is of another program.
    """
    inner = tensor.graph
    if not isinstance(inner, graphs.FuncGraph):
        return None
    for outer in graphs.graphs_outwards(getattr(inner, "outer_graph", None)):
        if _is_around(outer, used_in):
            held_by = [
                op
                for op in outer.get_operations()
                if inner in graphs.functions_by_name(op).values()
            ]
            return "TPU207" if any(map(cluster_of, held_by)) else "TPU303"
        inner = outer
    return "TPU303"


def _rule_of_context(context: Any) -> str:
    return "TPU207" if cluster_of(context.GetControlPivot().op) else "TPU303"


def _is_around(graph: Any, inner: Any) -> bool:
    return any(graph is outer for outer in graphs.graphs_outwards(inner))


def _tensors_in(frame: FrameType) -> Iterator[Any]:
    for value in list(frame.f_locals.values()):
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if graphs.is_symbolic_tensor(item):
                yield item


_Refused = errors.combine_classes(errors.DeviceAssignmentError, tf.errors.InvalidArgumentError)


def check_marked(context: TPUReplicateContext, marked: Marked, assignment: Any) -> None:
    """Raise the error of the first fault of the computation `marked`, made in `context`.

    Raises:
        DeviceAssignmentError: the replicas do not fit the assignment, or a core is not there.
        EscapedTensorError: a host tensor that no cluster returned is used on the device, or a
            tensor of a branch or a loop's body is an output.
        ValueError: an output is of another graph.
    """
    _check_outputs(marked)
    check_scopes(context.operations, marked.outputs)
    _check_assignment(assignment, context.num_replicas)
    _check_cores(context, assignment.num_cores_per_replica if assignment is not None else 1)
    _check_unreturned_tensors(context)


def _check_outputs(marked: Marked) -> None:
    for tensor in marked.outputs:
        if tensor.graph is not marked.graph:
            original = tensor.op.inputs[0]
            text = (
                f"{original!r} is out of scope and cannot be used here: it was defined in "
                f"{original.graph}, and not in {marked.graph}"
            )
            rule = rule_of_tensor(original, marked.graph)
            if rule is None:
                raise ValueError(text)
            raise errors.EscapedTensorError(text, place=operation_location(original.op), rule=rule)


def _check_assignment(assignment: Any, num_replicas: int) -> None:
    system = current_system()
    if assignment is None and (system is None or num_replicas in (1, system.num_cores)):
        return
    if system is not None:
        # The cores of the system that runs it, of which the topology in the assignment may not be.
        in_topology = system.num_cores
    else:
        in_topology = assignment.topology.num_tasks * assignment.topology.num_tpus_per_task
    if num_replicas > in_topology:
        raise _Refused(
            f"Requested num_replicas={num_replicas} but there are only {in_topology} cores in "
            "the TPU topology."
        )
    if assignment is None:
        raise _Refused(
            f"TPUReplicate asked to create {num_replicas} replicas, but the number of cores in the "
            f"TPU topology is {in_topology} and no TPU device assignment was supplied. A TPU "
            "device assignment is required if the number of replicas is not 1 or the number of "
            f"cores in the topology ({in_topology})"
        )
    cores = assignment.core_assignment
    coordinates = cores.reshape(-1, cores.shape[-1]).tolist()
    per_replica = assignment.num_cores_per_replica
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


def _check_cores(context: TPUReplicateContext, cores: int) -> None:
    for op in context.operations:
        if "TPU_REPLICATED_CORE" not in op.device:
            continue
        device = graphs.DeviceSpec.from_string(op.device)
        if (device.device_index or 0) >= cores:
            raise _Refused(
                f"Invalid core ID: {device.device_index}. The valid core IDs are [0..{cores})",
                place=operation_location(op),
            )


def _check_unreturned_tensors(context: TPUReplicateContext) -> None:
    returned = context.clusters.returned
    if returned is None or not context.clusters.count:
        return
    for op in _with_bodies(context.operations):
        if cluster_of(op):
            continue
        for tensor in op.inputs:
            if not cluster_of(tensor.op) or (id(tensor.graph), tensor.name) in returned:
                continue
            # The guard of a branch or a loop is marked as what needed it first.
            if tensor.op.type in PLUMBING:
                continue
            # The gradient of a host operation may take any tensor: TPU206 covers that.
            if "." in (cluster_of(tensor.op) or "") or _takes_for_gradient(op, tensor):
                continue
            raise errors.EscapedTensorError(
                f"The tensor {tensor.name} was made in an outside_compilation cluster that does "
                f"not return it, and {op.name} uses it on the device",
                place=operation_location(op),
                rule="TPU207",
            )


def _takes_for_gradient(op: Any, tensor: Any) -> bool:
    """Return whether only gradients take `tensor`: by `op`, or in its branches and bodies."""
    if is_of_gradient(op):
        return True
    takers = [
        (user, inner)
        for graph in graphs.functions_by_name(op).values()
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
        for graph in () if cluster_of(op) else graphs.functions_by_name(op).values():
            if id(graph) not in seen:
                seen.add(id(graph))
                unread += operations_of(graph)
