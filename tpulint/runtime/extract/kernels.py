"""The operations that the device can run: XLA's kernels, and the dtypes that a TPU holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import tensorflow as tf

from tpulint.ordering.operations import COLLECTIVES, ONLY_OF_TPUS
from tpulint.runtime.errors import UnsupportedOpError
from tpulint.runtime.extract.bodies import CASE, IF, WHILE, bodies, is_call
from tpulint.runtime.extract.refused_arrays import refused
from tpulint.runtime.extract.region import NEVER_ON_DEVICE, NodeDef, Operation, Region
from tpulint.runtime.pods import devices
from tpulint.runtime.source_location import place_of_operation
from tpulint.runtime.tensorflow_internals import graphs, operations

_ALWAYS = (
    WHILE | IF | CASE | COLLECTIVES | ONLY_OF_TPUS
    | {"Const", "NoOp", "Identity", "IdentityN", "Assert"}
    | {"SymbolicGradient", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"}
)  # fmt: skip


def unsupported(region: Region, ops: Iterable[Operation]) -> UnsupportedOpError | None:
    """Return the fault of the first of `ops`, of `region`'s device, that no device can run.

    As TensorFlow does, look for an absent kernel first: a lookup table is reported, not its key.
    """
    ops = tuple(ops)
    faults = (_first_fault(region, ops, fault) for fault in (_kernel_fault, _dtype_fault, refused))
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
    if is_call(op) or has_kernel(region.nodes[op.name]):
        return None
    return _fault(op, f"No registered '{op.type}' OpKernel for XLA_TPU_JIT devices", "TPU501")


def _dtype_fault(_: Region, op: Operation) -> UnsupportedOpError | None:
    dtype = _absent_dtype(op)
    if dtype is None or op.type == "Assert" or _feeds_assert(op):
        return None
    return _fault(op, f"Unsupported data type for TPU: {dtype}", "TPU504")


def needs_the_host(region: Region, op: Operation) -> bool:
    """Return whether TensorFlow's bridge cannot compile `op` itself, leaving its bodies aside.

    It cannot if `op` takes or returns strings, or has no kernel.
    """
    if op.type == "Assert":
        return False
    strings = (tensor.dtype.base_dtype == tf.string for tensor in (*op.inputs, *op.outputs))
    return any(strings) or not has_kernel(region.nodes[op.name])


def has_kernel(node: NodeDef) -> bool:
    """Return whether XLA has a kernel for `node`, of its dtypes."""
    if node.op in _ALWAYS:
        return True
    return any(
        all(node.attr[name].type in allowed for name, allowed in constraints if name in node.attr)
        for constraints in _kernels().get(node.op, ())
    )


@lru_cache(maxsize=1)
def _kernels() -> dict[str, list[list[tuple[str, frozenset[int]]]]]:
    """Return by operation type each kernel's dtype constraints: attribute and allowed dtypes."""

    @tf.function(jit_compile=True)  # type: ignore[untyped-decorator]
    def registers_the_kernels() -> Any:
        return tf.constant(1.0) + 1.0

    # In this process, whose kernels they are, also where the program is connected to others.
    with graphs.eager_mode(), tf.device(devices.COORDINATORS_CPU):
        registers_the_kernels.get_concrete_function()()  # also where functions run eagerly
    found: dict[str, list[list[tuple[str, frozenset[int]]]]] = {}
    for kernel in operations.registered_kernels():
        if kernel.device_type == "XLA_CPU_JIT":
            found.setdefault(kernel.op, []).append(
                [(row.name, frozenset(row.allowed_values.list.type)) for row in kernel.constraint]
            )
    return found


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
    return UnsupportedOpError(text, place=place_of_operation(op), rule=rule)
