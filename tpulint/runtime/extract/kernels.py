"""The operations that the device can run, those that go to the host, and those that nothing runs.

The device has XLA's kernels, and the dtypes that a TPU holds. With soft placement the others go to
the host by themselves, as in TensorFlow's MLIR bridge (tf2xla's
mark_ops_for_outside_compilation.cc), under the names "auto0", "auto1", ...; a tensor that one such
operation gives another stays on the host.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from operator import attrgetter
from typing import Any

import tensorflow as tf

from tpulint.ordering import COLLECTIVES, FEEDS, ONLY_OF_TPUS, reachable
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
    walk_operations,
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
        inside = (inner for _, inner in walk_operations(region, [op]))
        user = next(inner for inner in inside if ARRAY_USERS.get(inner.type) == STACK)
        message = f"Uninitialized arguments: Stack, operation {user.name} of type {user.type}"
        return UnsupportedOpError(message, place=operation_location(user))
    return None


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
    inside = tuple(walk_operations(region, ops))
    faults = (
        fault_of(around, op)
        for fault_of in (_kernel_fault, _dtype_fault, refused_array_use)
        for around, op in inside
    )
    return next(filter(None, faults), None)


def _kernel_fault(region: Region, op: Operation) -> UnsupportedOpError | None:
    # TensorFlow adds the size of an input itself: before, it refuses the dtype of that.
    is_of_refused_input = op.type == "XlaSetDynamicDimensionSize" and _absent_dtype(op)
    if is_call(op) or is_of_refused_input or has_kernel(region.nodes[op.name]):
        return None
    message = (
        "Detected unsupported operations when trying to compile graph on XLA_TPU_JIT: "
        f"{op.type} (No registered '{op.type}' OpKernel for XLA_TPU_JIT devices compatible with "
        f"node {{{{node {op.name}}}}})"
    )
    return UnsupportedOpError(message, place=operation_location(op), rule="TPU501")


def _dtype_fault(_: Region, op: Operation) -> UnsupportedOpError | None:
    dtype = _absent_dtype(op)
    # A constant for assertions only is dropped with them: they do nothing on a device.
    users = [user for tensor in op.outputs for user in tensor.consumers()]
    feeds_assert = op.type == "Const" and all(user.type == "Assert" for user in users)
    if dtype is None or op.type == "Assert" or feeds_assert:
        return None
    message = f"Unsupported data type for TPU: {dtype}, operation {op.name} of type {op.type}"
    return UnsupportedOpError(message, place=operation_location(op), rule="TPU504")


# dataset_ops.py, `_resource_resolver`: the operations whose datasets it searches for variables.
_READS_WHOLE_DATASET = frozenset({"DatasetToSingleElement", "DatasetToTFRecord", "ReduceDataset"})


def refuse_endless_tracing(ops: Iterable[Operation]) -> None:
    """Raise the fault of an operation for which TensorFlow would trace the function forever.

    Each time the resolver above adds the handle of a strategy's variable that a function of the
    dataset captures, tpu_ops.py's `tpu_replicated_input_resolver` replaces it.
    """

    def datasets(user: Operation) -> list[Operation]:
        return [tensor.op for tensor in user.inputs if _is_variant(tensor)]

    # A resource of a TPUReplicatedInput is a handle that the replicas share.
    for op in ops:
        if op.type in _READS_WHOLE_DATASET and any(
            tensor.dtype == tf.resource and tensor.op.type == "TPUReplicatedInput"
            for dataset in reachable([op], datasets, attrgetter("name"))
            for tensor in dataset.inputs
        ):
            message = (
                f"{op.type} of a dataset in whose functions a variable of the strategy is used:"
                " TensorFlow never ends to trace it, and no TPU has a kernel for it"
            )
            raise UnsupportedOpError(message, place=operation_location(op), rule="TPU501")


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
        is_call(op) or has_kernel(around.nodes[op.name], "CPU")
        for around, op in walk_operations(region, ops)
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
    dtypes = (tensor.dtype.base_dtype for tensor in (*op.inputs, *op.outputs))
    return next((dtype.name for dtype in dtypes if dtype in NEVER_ON_DEVICE), None)


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
    alone: list[Operation] = []
    holds_some = False
    for op in region.ops:
        if op.type in _NEVER_ON_HOST or region.cluster_of(op) is not None:
            continue
        # Calls, which are inlined, and marked bodies do not go to the host.
        if not is_call(op) and not is_marked(region, op) and needs_the_host(region, op):
            alone.append(op)
        else:
            inside = [_collect_automatic(body, clusters, seen) for body in bodies(region, op)]
            holds_some = holds_some or any(inside)
    wanted = _with_variants(region, alone)

    def neighbors(op: Operation) -> list[Operation]:
        near = [tensor.op for tensor in op.inputs]
        near += [user for tensor in op.outputs for user in tensor.consumers()]
        return [other for other in near if other.name in wanted]

    # Operations that pass tensors to each other are in one cluster, in program order.
    for op in region.ops:
        if op.name in wanted and key_of(region, op) not in clusters.clusters:
            name = f"auto{len(set(clusters.clusters.values()))}"
            for member in reachable([op], neighbors, attrgetter("name")):
                clusters.clusters[key_of(region, member)] = name
    if wanted or holds_some:
        clusters.graphs.add(id(region.graph))
    return bool(wanted) or holds_some


def _with_variants(region: Region, wanted: Iterable[Operation]) -> dict[str, Operation]:
    """Return `wanted`, and what shares a variant (list, dataset) with them: none crosses."""
    users: dict[str, list[Operation]] = {}
    for op in region.ops:
        for tensor in filter(_is_variant, op.inputs):
            users.setdefault(tensor.name, []).append(op)

    def others(op: Operation) -> list[Operation]:
        near = [tensor.op for tensor in op.inputs if _is_variant(tensor)]
        near += [user for tensor in op.outputs for user in users.get(tensor.name, ())]
        return [other for other in near if other.name in region.names]

    return {op.name: op for op in reachable(wanted, others, attrgetter("name"))}


def _is_variant(tensor: object) -> bool:
    return bool(tensor.dtype.base_dtype.name == "variant")  # type: ignore[attr-defined]


def unreachable_python_function(region: Region, ops: Iterable[Operation]) -> HostPythonError | None:
    """Return the fault of a host cluster of `ops` that calls Python from another machine.

    None where the cores are this machine's: a Python function is in the process of the program
    (`tf.py_function`'s documentation), and the hosts of a pod run other processes.
    """
    if devices.remote_host_of_core(0) is None:
        return None
    inside = (op for _, op in walk_operations(region, ops))
    op = next((op for op in inside if op.type in operations.PYTHON_FUNCTIONS), None)
    if op is None:
        return None
    job = devices.job_of_cores()
    return HostPythonError(
        f"No registered '{op.type}' OpKernel on the hosts '/job:{job}': the host cluster runs "
        "there, and the Python function is in the process of the program",
        place=operation_location(op),
    )
