"""The tensors that are constants when a device program is compiled, wherever a segment uses them.

A TPU compiles a computation as one program, in which a shape may come from constants and from
other shapes. Here the segments of a region, and the bodies in it, are programs of their own: what
is constant in the whole is computed anew in each segment that takes it, and is no argument there.
Such an operation has no effect, so its value is the same; XLA decides what it takes for a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tpulint.ordering.operations import COLLECTIVES, FEEDS, ONLY_OF_TPUS
from tpulint.runtime.extract.bodies import WHILE, bodies, is_call
from tpulint.runtime.extract.copying import copy
from tpulint.runtime.extract.effects import arguments
from tpulint.runtime.extract.kernels import has_kernel
from tpulint.runtime.extract.region import NEVER_ON_DEVICE, Graph, Operation, Region, Tensor
from tpulint.runtime.tensorflow_internals import graphs

_LARGEST = 1024
"""Elements of a tensor that is computed anew: shapes, axes and the like have few."""
OF_SHAPES = frozenset({"Shape", "ShapeN", "Size", "Rank"})
_ARGUMENTS = frozenset({"Placeholder", "PlaceholderWithDefault", "TPUReplicatedInput"})
_NEVER = _ARGUMENTS | COLLECTIVES | FEEDS | ONLY_OF_TPUS
_NO_DATA = frozenset({tf.resource, tf.variant}) | NEVER_ON_DEVICE


@dataclass(frozen=True, eq=False)
class ConstantScope:
    """A region, and those of its inputs that are constants of the regions around it.

    `image` returns the image of a tensor of the region in the graph that is being built. The scope
    of a function has none, but the call: the scope of that, and its arguments by input.
    """

    region: Region
    inputs: Mapping[str, DeviceConstant]
    image: Callable[[str], Tensor] | None = None
    call: tuple[ConstantScope, Mapping[str, Tensor]] | None = None


@dataclass(frozen=True, eq=False)
class DeviceConstant:
    """A constant, by the tensor of a region that has its value."""

    scope: ConstantScope
    tensor: Tensor


@dataclass(frozen=True, eq=False)
class _Computation:
    """The operations of one region that compute a constant, and what they take, by name."""

    ops: dict[str, Operation] = field(default_factory=dict)
    sizes: dict[str, Any] = field(default_factory=dict)
    others: dict[str, DeviceConstant] = field(default_factory=dict)
    shaped: dict[str, tuple[ConstantScope, Tensor]] = field(default_factory=dict)
    """The tensors of which only the shape is used."""


def constant(scope: ConstantScope, tensor: Tensor) -> DeviceConstant | None:
    """Return `tensor` of the region of `scope` as a constant, or None if it depends on data."""
    return (
        DeviceConstant(scope, tensor) if _is_small(tensor) and _computation(scope, tensor) else None
    )


def constant_arguments(
    scope: ConstantScope, names: Sequence[str], given: Sequence[Tensor]
) -> dict[str, DeviceConstant]:
    """Return the constants among the arguments `given` of a body whose inputs have these names."""
    return {name: value for name, tensor in zip(names, given) if (value := constant(scope, tensor))}


def captured_constants(captured: Mapping[str, Tensor]) -> dict[str, DeviceConstant]:
    """Return the constants among the tensors that a computation captures, by their names in it."""
    return {
        name: value
        for name, tensor in captured.items()
        if (value := constant(_scope_of(tensor.graph), tensor))
    }


def shaped_tensors(value: DeviceConstant) -> Iterator[tuple[ConstantScope, Tensor]]:
    """Yield the tensors whose shapes `value` is computed of."""
    computation = _computed(value)
    yield from computation.shaped.values()
    for other in computation.others.values():
        yield from shaped_tensors(other)


def computed_anew(
    value: DeviceConstant, shaped: Callable[[ConstantScope, Tensor], Tensor]
) -> Tensor:
    """Return `value`, computed in the graph that is being built; `shaped` gives `shaped_tensors`'.

    It is the device's.
    """
    computation = _computed(value)
    taken = {name: computed_anew(other, shaped) for name, other in computation.others.items()}
    taken |= {name: tf.constant(*size) for name, size in computation.sizes.items()}
    taken |= {name: shaped(*source) for name, source in computation.shaped.items()}
    name = value.tensor.name
    if name in taken:
        return taken[name]
    ops = list(computation.ops.values())
    copied = copy(value.scope.region, ops, taken.__getitem__, {}, on_device=True)
    return copied.tensors[name]


def _computed(value: DeviceConstant) -> _Computation:
    computation = _computation(value.scope, value.tensor)
    assert computation is not None
    return computation


def _computation(scope: ConstantScope, tensor: Tensor) -> _Computation | None:
    """Return the computation of `tensor`, or None if it depends on data or has effects."""
    computation = _Computation()
    seen: set[str] = set()
    unread = [tensor]
    while unread:
        inner = unread.pop()
        if inner.name in seen:
            continue
        seen.add(inner.name)
        other = _of_another_region(scope, inner)
        if other:
            computation.others[inner.name] = other
        elif inner.op.type in OF_SHAPES:
            if not _add_shape(scope, inner, computation):
                return None
        elif has_no_effect(scope.region, inner.op):
            computation.ops[inner.op.name] = inner.op
            unread += inner.op.inputs
        else:
            return None
    return computation


def _add_shape(scope: ConstantScope, tensor: Tensor, computation: _Computation) -> bool:
    """Add `tensor`, of a shape, to `computation`; return whether that can be done."""
    op = tensor.op
    size = _static_size(op, op.inputs[tensor.value_index].shape)
    if size is not None:
        computation.sizes[tensor.name] = size, tensor.dtype
        return True
    for inner in op.inputs:
        around, source = _argument(scope, inner)
        if around.image is None or source.dtype in _NO_DATA:
            return False
        computation.shaped[inner.name] = around, source
    computation.ops[op.name] = op
    return True


def _argument(scope: ConstantScope, tensor: Tensor) -> tuple[ConstantScope, Tensor]:
    """Return the argument of calls that `tensor` is, and its scope; else `tensor` itself."""
    if scope.call is None:
        return scope, tensor
    around, given = scope.call
    return _argument(around, given[tensor.name]) if tensor.name in given else (scope, tensor)


def _static_size(op: Operation, shape: tf.TensorShape) -> Any:
    if op.type == "Rank":
        return shape.rank
    if not shape.is_fully_defined():
        return None
    return shape.num_elements() if op.type == "Size" else shape.as_list()


def _of_another_region(scope: ConstantScope, tensor: Tensor) -> DeviceConstant | None:
    """Return the constant that gives `tensor` its value, if the operation of that is elsewhere."""
    op = tensor.op
    if tensor.name in scope.inputs:
        return scope.inputs[tensor.name]
    if tensor.name in scope.region.inputs:
        return None
    if op.type == "Placeholder":
        outer = graphs.captured_by(tensor)
        return None if outer is None else constant(_scope_of(outer.graph), outer)
    if scope.region.cluster_of(op) is not None:
        return None
    if is_call(op):
        (body,) = bodies(scope.region, op)
        inputs = constant_arguments(scope, body.inputs, arguments(op))
        call = scope, dict(zip(body.inputs, arguments(op)))
        return constant(ConstantScope(body, inputs, call=call), body.outputs[tensor.value_index])
    if op.type in WHILE and body_passes_on(bodies(scope.region, op)[1], tensor.value_index):
        return constant(scope, op.inputs[tensor.value_index])
    return None


def body_passes_on(body: Region, place: int) -> bool:
    """Return whether a loop's `body` leaves its argument at `place` as it is."""
    tensor = body.outputs[place]
    while tensor.op.type == "Identity" and tensor.op.name in body.names:
        tensor = tensor.op.inputs[0]
    return bool(tensor.name == body.inputs[place])


def has_no_effect(region: Region, op: Operation) -> bool:
    """Return whether `op` gives the same wherever the device computes it of the same inputs."""
    if any(tensor.dtype.base_dtype in _NO_DATA for tensor in (*op.inputs, *op.outputs)):
        return False
    if op.op_def.is_stateful or op.type in _NEVER or region.cluster_of(op) is not None:
        return False
    return bool(op.type == "Const" or op.inputs) and has_kernel(region.nodes[op.name])


def _is_small(tensor: Tensor) -> bool:
    return (tensor.shape.num_elements() or 0) <= _LARGEST


class _NodesOf(dict[str, Any]):
    """The NodeDefs of a graph by name, read where they are needed."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __missing__(self, name: str) -> Any:
        return self._graph.get_operation_by_name(name).node_def


def _scope_of(graph: Graph) -> ConstantScope:
    """Return the scope of `graph`, in which a computation, or a function around it, is built."""
    return ConstantScope(Region(graph, (), (), (), _NodesOf(graph)), {})
