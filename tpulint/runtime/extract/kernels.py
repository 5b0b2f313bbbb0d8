"""The operations that the device can run, those that go to the host, and those that nothing runs.

The device has XLA's kernels, and the dtypes that a TPU holds. With soft placement the others go to
the host by themselves, as in TensorFlow's MLIR bridge (tf2xla's
mark_ops_for_outside_compilation.cc), under the names "auto0", "auto1", ...; a tensor that one such
operation gives another stays on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import tensorflow as tf

from tpulint.ordering import COLLECTIVES, FEEDS, ONLY_OF_TPUS
from tpulint.runtime.errors import HostPythonError, UnsupportedOpError
from tpulint.runtime.extract.bodies import (
    ARRAY_USERS,
    CASE,
    IF,
    STACK,
    WHILE,
    bodies,
    handles_taken_inside,
    is_call,
    is_marked,
)
from tpulint.runtime.extract.region import (
    NEVER_ON_DEVICE,
    AutomaticClusters,
    NodeDef,
    Operation,
    Region,
    key_of,
)
from tpulint.runtime.pods import devices
from tpulint.runtime.source_location import operation_location
from tpulint.runtime.tensorflow_internals import graphs, operations


def refused_array_use(region: Region, op: Operation) -> UnsupportedOpError | None:
    """Return the fault of `op` if it uses an array or a stack as no XLA program can, or None."""
    if op.type == "TensorArrayV3" and op.get_attr("dynamic_size"):
        message = f"TensorArrays with dynamic size are not supported by XLA, operation {op.name}"
        return UnsupportedOpError(message, place=operation_location(op), rule="TPU503")
    if op.type in IF | CASE and STACK in handles_taken_inside(region, op).values():
        # if_op.cc. Such is the gradient of a conditional in a loop, or of a loop in one.
        user = next(_operations_on_stacks(region, op))
        message = f"Uninitialized arguments: Stack, operation {user.name} of type {user.type}"
        return UnsupportedOpError(message, place=operation_location(user))
    return None


def _operations_on_stacks(region: Region, op: Operation) -> Iterator[Operation]:
    for body in bodies(region, op):
        for inner in body.ops:
            if ARRAY_USERS.get(inner.type) == STACK:
                yield inner
            yield from _operations_on_stacks(body, inner)


_XLA = "XLA_CPU_JIT"
_ALWAYS = (
    WHILE | IF | CASE | COLLECTIVES | ONLY_OF_TPUS
    | {"Const", "NoOp", "Identity", "IdentityN", "Assert"}
    | {"SymbolicGradient", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"}
)  # fmt: skip


def unsupported_operation(region: Region, ops: Iterable[Operation]) -> UnsupportedOpError | None:
    """Return the fault of the first of `ops`, of `region`'s device, that no device can run.

    As TensorFlow does, look for an absent kernel first: a lookup table is reported, not its key.
    """
    ops = tuple(ops)
    faults = (
        _first_fault(region, ops, fault)
        for fault in (_kernel_fault, _dtype_fault, refused_array_use)
    )
    return next(filter(None, faults), None)


def _first_fault(
    region: Region,
    ops: Iterable[Operation],
    fault_of: Callable[[Region, Operation], UnsupportedOpError | None],
) -> UnsupportedOpError | None:
    """Return the first fault of `ops` or of an operation in their bodies, bodies first."""
    for op in ops:
        inside = (_first_fault(body, body.ops, fault_of) for body in bodies(region, op))
        fault = next(filter(None, inside), None) or fault_of(region, op)
        if fault:
            return fault
    return None


def _kernel_fault(region: Region, op: Operation) -> UnsupportedOpError | None:
    # TensorFlow adds the size of an input itself: before, it refuses the dtype of that.
    is_of_refused_input = op.type == "XlaSetDynamicDimensionSize" and _absent_dtype(op)
    if is_call(op) or is_of_refused_input or has_kernel(region.nodes[op.name]):
        return None
    return _fault(op, f"No registered '{op.type}' OpKernel for XLA_TPU_JIT devices", "TPU501")


def _dtype_fault(_: Region, op: Operation) -> UnsupportedOpError | None:
    dtype = _absent_dtype(op)
    if dtype is None or op.type == "Assert" or _feeds_assert(op):
        return None
    return _fault(op, f"Unsupported data type for TPU: {dtype}", "TPU504")


# dataset_ops.py, `_resource_resolver`: the operations whose datasets it searches for variables.
_READS_WHOLE_DATASET = frozenset({"DatasetToSingleElement", "DatasetToTFRecord", "ReduceDataset"})


def refuse_endless_tracing(ops: Iterable[Operation]) -> None:
    """Raise the fault of an operation for which TensorFlow would trace the function forever.

    Each time the resolver above adds the handle of a strategy's variable that a function of the
    dataset captures, tpu_ops.py's `tpu_replicated_input_resolver` replaces it.
    """
    for op in ops:
        if op.type not in _READS_WHOLE_DATASET or not _gives_replicated_handle(op):
            continue
        message = (
            f"{op.type} of a dataset in whose functions a variable of the strategy is used:"
            " TensorFlow never ends to trace it, and no TPU has a kernel for it"
        )
        raise UnsupportedOpError(message, place=operation_location(op), rule="TPU501")


def _gives_replicated_handle(op: Operation) -> bool:
    """Return whether `op` or a dataset that leads to it captures a handle that replicas share."""
    unread, seen = [op], set[str]()
    while unread:
        current = unread.pop()
        if current.name in seen:
            continue
        seen.add(current.name)
        for tensor in current.inputs:
            if tensor.dtype == tf.resource and tensor.op.type == "TPUReplicatedInput":
                return True
            if _is_variant(tensor):
                unread.append(tensor.op)
    return False


def needs_the_host(region: Region, op: Operation) -> bool:
    """Return whether TensorFlow's bridge cannot compile `op` itself, leaving its bodies aside.

    It cannot if `op` takes or returns strings, or has no kernel.
    """
    # Its message is a string, but a TPU drops the operation.
    if op.type == "Assert":
        return False
    strings = (tensor.dtype.base_dtype == tf.string for tensor in (*op.inputs, *op.outputs))
    return any(strings) or not has_kernel(region.nodes[op.name])


def has_kernel(node: NodeDef, device: str = _XLA) -> bool:
    """Return whether XLA, or the `device`, has a kernel for `node`, of its dtypes."""
    if node.op in _ALWAYS:
        return True
    return any(
        all(node.attr[name].type in allowed for name, allowed in constraints if name in node.attr)
        for constraints in _kernels(device).get(node.op, ())
    )


def can_run_on_cpu(region: Region, ops: Iterable[Operation]) -> bool:
    """Return whether TensorFlow has kernels for `ops` and for all in their bodies on a CPU."""
    return all(
        (is_call(op) or has_kernel(region.nodes[op.name], "CPU"))
        and all(can_run_on_cpu(body, body.ops) for body in bodies(region, op))
        for op in ops
    )


@lru_cache(maxsize=2)
def _kernels(device: str) -> dict[str, list[list[tuple[str, frozenset[int]]]]]:
    """Return by operation type each kernel's dtype constraints: attribute and allowed dtypes."""

    @tf.function(jit_compile=True)  # type: ignore[untyped-decorator]
    def registers_the_kernels() -> Any:
        return tf.constant(1) + 1  # integers: `enable_check_numerics` adds checks to floats

    # In this process, whose kernels they are, also where the program is connected to others.
    with graphs.eager_mode(), tf.device(devices.COORDINATORS_CPU):
        registers_the_kernels.get_concrete_function()()  # also where functions run eagerly
    kernels: dict[str, list[list[tuple[str, frozenset[int]]]]] = {}
    for kernel in operations.registered_kernels().kernel:
        if kernel.device_type == device:
            kernels.setdefault(kernel.op, []).append(
                [(row.name, frozenset(row.allowed_values.list.type)) for row in kernel.constraint]
            )
    return kernels


def _absent_dtype(op: Operation) -> str | None:
    for tensor in (*op.inputs, *op.outputs):
        if tensor.dtype.base_dtype in NEVER_ON_DEVICE:
            name: str = tensor.dtype.base_dtype.name
            return name
    return None


def _feeds_assert(op: Operation) -> bool:
    """Return whether `op` is a constant for assertions only, which do nothing on a device."""
    users = [user for tensor in op.outputs for user in tensor.consumers()]
    return op.type == "Const" and all(user.type == "Assert" for user in users)


def _fault(op: Operation, message: str, rule: str) -> UnsupportedOpError:
    text = (
        "Detected unsupported operations when trying to compile graph on XLA_TPU_JIT: "
        f"{op.type} ({message} compatible with node {{{{node {op.name}}}}})"
        if rule == "TPU501"
        else f"{message}, operation {op.name} of type {op.type}"
    )
    return UnsupportedOpError(text, place=operation_location(op), rule=rule)


_NEVER_ON_HOST = COLLECTIVES | FEEDS | {"Const"}


def find_automatic_clusters(region: Region) -> AutomaticClusters:
    """Return the operations of `region` and its bodies that go to the host by themselves."""
    clusters = AutomaticClusters()
    _collect_automatic(region, clusters, set())
    return clusters


def _collect_automatic(region: Region, clusters: AutomaticClusters, seen: set[int]) -> bool:
    """Add the operations of `region` and its bodies to `clusters`; return whether there are any."""
    # A function may be called often, and a gradient function may hold itself.
    if id(region.graph) in seen:
        return id(region.graph) in clusters.graphs
    seen.add(id(region.graph))
    wanted: dict[str, Operation] = {}
    holds_some = False
    for op in region.ops:
        if op.type in _NEVER_ON_HOST or region.cluster_of(op) is not None:
            continue
        if _goes_to_the_host(region, op):
            wanted[op.name] = op
        else:
            inside = [_collect_automatic(body, clusters, seen) for body in bodies(region, op)]
            holds_some = holds_some or any(inside)
    _add_variants(region, wanted)
    _name_clusters(region, wanted, clusters)
    if wanted or holds_some:
        clusters.graphs.add(id(region.graph))
    return bool(wanted) or holds_some


def _goes_to_the_host(region: Region, op: Operation) -> bool:
    """Return whether `op` goes to the host; calls, which are inlined, and marked bodies do not."""
    return not is_call(op) and not is_marked(region, op) and needs_the_host(region, op)


def _add_variants(region: Region, wanted: dict[str, Operation]) -> None:
    """Add the operations that share a variant (list, dataset) with a host one: none crosses."""
    unread = list(wanted.values())
    users: dict[str, list[Operation]] = {}
    for op in region.ops:
        for tensor in op.inputs:
            users.setdefault(tensor.name, []).append(op)
    while unread:
        op = unread.pop()
        others = [tensor.op for tensor in op.inputs if _is_variant(tensor)]
        others += [
            user
            for tensor in op.outputs
            if _is_variant(tensor)
            for user in users.get(tensor.name, ())
        ]
        for other in others:
            if other.name in region.names and other.name not in wanted:
                wanted[other.name] = other
                unread.append(other)


def _is_variant(tensor: object) -> bool:
    return bool(tensor.dtype.base_dtype.name == "variant")  # type: ignore[attr-defined]


def _name_clusters(
    region: Region, wanted: dict[str, Operation], clusters: AutomaticClusters
) -> None:
    """Put operations that pass tensors to each other into one cluster, in program order."""
    for op in region.ops:
        if op.name in wanted and key_of(region, op) not in clusters.clusters:
            name = f"auto{len(set(clusters.clusters.values()))}"
            for member in _connected(op, wanted):
                clusters.clusters[key_of(region, member)] = name


def _connected(start: Operation, wanted: dict[str, Operation]) -> Iterable[Operation]:
    together = {start.name: start}
    unread = [start]
    while unread:
        op = unread.pop()
        neighbors = [tensor.op for tensor in op.inputs]
        neighbors += [user for tensor in op.outputs for user in tensor.consumers()]
        for other in neighbors:
            if other.name in wanted and other.name not in together:
                together[other.name] = other
                unread.append(other)
    return together.values()


def unreachable_python_function(region: Region, ops: Iterable[Operation]) -> HostPythonError | None:
    """Return the fault of a host cluster of `ops` that calls Python from another machine.

    None where the cores are this machine's: a Python function is in the process of the program
    (`tf.py_function`'s documentation), and the hosts of a pod run other processes.
    """
    if devices.remote_host_of_core(0) is None:
        return None
    op = _python_function(region, ops)
    if op is None:
        return None
    job = devices.job_of_cores()
    return HostPythonError(
        f"No registered '{op.type}' OpKernel on the hosts '/job:{job}': the host cluster runs "
        "there, and the Python function is in the process of the program",
        place=operation_location(op),
    )


def _python_function(region: Region, ops: Iterable[Operation]) -> Operation | None:
    """Return the first of `ops`, or of what is in their bodies, that calls Python."""
    for op in ops:
        if op.type in operations.PYTHON_FUNCTIONS:
            return op
        for body in bodies(region, op):
            inner = _python_function(body, body.ops)
            if inner is not None:
                return inner
    return None
