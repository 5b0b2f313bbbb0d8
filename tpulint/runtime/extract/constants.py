"""The tensors that are constants when a device program is compiled, wherever a segment uses them.

A TPU compiles a computation as one program, in which a shape may come from constants and from
other shapes. Here the segments of a region, and the bodies in it, are programs of their own: what
is constant in the whole is computed anew in each segment that takes it, and is no argument there.
Such an operation has no effect, so its value is the same; XLA decides what it takes for a constant.

The bounds of slices, as in `x[:n]`, that follow from the arguments of a device program are known
when a segment is compiled, too, and only these: it is then compiled for each of their values. A
TPU's compiler takes a slice of which it knows the largest size only. XLA for the CPU does so too,
but compiles few of the operations on the result (`x[:n] + y[:n]`: not in older releases) and some
of them wrongly (`tf.cumsum`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tpulint.ordering import COLLECTIVES, FEEDS, ONLY_OF_TPUS
from tpulint.runtime.extract.bodies import WHILE, arguments, bodies, holds_bodies, is_call
from tpulint.runtime.extract.copying import copy_operations
from tpulint.runtime.extract.kernels import has_kernel
from tpulint.runtime.extract.region import NEVER_ON_DEVICE, Graph, Operation, Region, Tensor
from tpulint.runtime.tensorflow_internals import graphs


def constant_value(tensor: Tensor) -> Any:
    """Return the value of `tensor` as an array, or None if it depends on data.

    The inputs of a computation are data, whatever they are.

    `tf.get_static_value` knows constants, also captured ones, and a few operations on them. The
    compiler evaluates all others, too: the gradient of a permutation slices its pairs.
    """
    value = tf.get_static_value(tensor)
    op = tensor.op
    if value is not None or not op.inputs:
        return value
    # Read or drawn at each run, or each replica's own.
    if op.op_def.is_stateful or op.type == "TPUReplicatedInput":
        return None
    inputs = [constant_value(argument) for argument in op.inputs]
    compute = getattr(tf.raw_ops, op.type, None)
    if compute is None or any(argument is None for argument in inputs):
        return None
    # By TensorFlow itself: no second implementation of its operations.
    with graphs.eager_mode():
        results = compute(**dict(_named_arguments(op, inputs)), **_attributes(op, compute))
    return tf.nest.flatten(results)[tensor.value_index].numpy()


def _named_arguments(op: Operation, values: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of `op` by name; an argument that is a list takes several of `values`."""
    for argument in op.op_def.input_arg:
        if argument.number_attr:
            count = op.get_attr(argument.number_attr)
        elif argument.type_list_attr:
            count = len(op.get_attr(argument.type_list_attr))
        else:
            yield argument.name, values.pop(0)
            continue
        yield argument.name, [values.pop(0) for _ in range(count)]


def _attributes(op: Operation, compute: Any) -> dict[str, Any]:
    """Return the attributes that `compute` takes: it infers the others from its arguments."""
    inputs = {argument.name for argument in op.op_def.input_arg}
    names = inspect.signature(compute).parameters.keys() - inputs - {"name"}
    return {name: op.get_attr(name) for name in names}


# Elements of a tensor that is computed anew: shapes, axes and the like have few.
_MAX_ELEMENTS = 1024
SHAPE_OPERATIONS = frozenset({"Shape", "ShapeN", "Size", "Rank"})
_ARGUMENT_TYPES = frozenset({"Placeholder", "PlaceholderWithDefault", "TPUReplicatedInput"})
_NEVER_CONSTANT = _ARGUMENT_TYPES | COLLECTIVES | FEEDS | ONLY_OF_TPUS
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


def device_constant(scope: ConstantScope, tensor: Tensor) -> DeviceConstant | None:
    """Return `tensor` of the region of `scope` as a constant, or None if it depends on data."""
    return (
        DeviceConstant(scope, tensor) if _is_small(tensor) and _computation(scope, tensor) else None
    )


def constant_arguments(
    scope: ConstantScope, names: Sequence[str], tensors: Sequence[Tensor]
) -> dict[str, DeviceConstant]:
    """Return the constants among the arguments `tensors` of a body with inputs of these names."""
    return {
        name: value
        for name, tensor in zip(names, tensors)
        if (value := device_constant(scope, tensor))
    }


def captured_constants(captured: Mapping[str, Tensor]) -> dict[str, DeviceConstant]:
    """Return the constants among the tensors that a computation captures, by their names in it."""
    return {
        name: value
        for name, tensor in captured.items()
        if (value := device_constant(_scope_of(tensor.graph), tensor))
    }


def shaped_tensors(value: DeviceConstant) -> Iterator[tuple[ConstantScope, Tensor]]:
    """Yield the tensors whose shapes `value` is computed of."""
    computation = _known_computation(value)
    yield from computation.shaped.values()
    for other in computation.others.values():
        yield from shaped_tensors(other)


def recompute(value: DeviceConstant, shaped: Callable[[ConstantScope, Tensor], Tensor]) -> Tensor:
    """Return `value`, computed in the graph that is being built; `shaped` gives `shaped_tensors`'.

    It is the device's.
    """
    computation = _known_computation(value)
    taken = {name: recompute(other, shaped) for name, other in computation.others.items()}
    taken |= {name: tf.constant(*size) for name, size in computation.sizes.items()}
    taken |= {name: shaped(*source) for name, source in computation.shaped.items()}
    name = value.tensor.name
    if name in taken:
        return taken[name]
    ops = list(computation.ops.values())
    copied = copy_operations(value.scope.region, ops, taken.__getitem__, {}, on_device=True)
    return copied.tensors[name]


def _known_computation(value: DeviceConstant) -> _Computation:
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
        other = _constant_of_other_region(scope, inner)
        if other:
            computation.others[inner.name] = other
        elif inner.op.type in SHAPE_OPERATIONS:
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
    around, handed_in = scope.call
    return (
        _argument(around, handed_in[tensor.name]) if tensor.name in handed_in else (scope, tensor)
    )


def _static_size(op: Operation, shape: tf.TensorShape) -> Any:
    if op.type == "Rank":
        return shape.rank
    if not shape.is_fully_defined():
        return None
    return shape.num_elements() if op.type == "Size" else shape.as_list()


def _constant_of_other_region(scope: ConstantScope, tensor: Tensor) -> DeviceConstant | None:
    """Return the constant that gives `tensor` its value, if the operation of that is elsewhere."""
    op = tensor.op
    if tensor.name in scope.inputs:
        return scope.inputs[tensor.name]
    if tensor.name in scope.region.inputs:
        return None
    if op.type == "Placeholder":
        outer = graphs.captured_tensor(tensor)
        return None if outer is None else device_constant(_scope_of(outer.graph), outer)
    if scope.region.cluster_of(op) is not None:
        return None
    # TensorFlow inlines calls before it compiles.
    if is_call(op):
        (body,) = bodies(scope.region, op)
        inputs = constant_arguments(scope, body.inputs, arguments(op))
        call = scope, dict(zip(body.inputs, arguments(op)))
        return device_constant(
            ConstantScope(body, inputs, call=call), body.outputs[tensor.value_index]
        )
    if op.type in WHILE and body_passes_on(bodies(scope.region, op)[1], tensor.value_index):
        return device_constant(scope, op.inputs[tensor.value_index])
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
    if op.op_def.is_stateful or op.type in _NEVER_CONSTANT or region.cluster_of(op) is not None:
        return False
    return bool(op.type == "Const" or op.inputs) and has_kernel(region.nodes[op.name])


def _is_small(tensor: Tensor) -> bool:
    return (tensor.shape.num_elements() or 0) <= _MAX_ELEMENTS


class _LazyNodes(dict[str, Any]):
    """The NodeDefs of a graph by name, read where they are needed."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __missing__(self, name: str) -> Any:
        return self._graph.get_operation_by_name(name).node_def


def _scope_of(graph: Graph) -> ConstantScope:
    """Return the scope of `graph`, in which a computation, or a function around it, is built."""
    return ConstantScope(Region(graph, (), (), (), _LazyNodes(graph)), {})


@dataclass(frozen=True, eq=False)
class SliceBound:
    """The input `index` of `op`, computed by `ops` from `sources` that others give.

    `op` is a slice, or holds one in a body that gets the bound as an argument.
    """

    op: Operation
    index: int
    ops: dict[str, Operation] = field(default_factory=dict)
    sources: dict[str, Tensor] = field(default_factory=dict)

    @property
    def tensor(self) -> Tensor:
        """Return the bound."""
        return self.op.inputs[self.index]


def find_slice_bounds(region: Region, ops: Sequence[Operation]) -> Iterator[SliceBound]:
    """Yield the bounds of slices that are computed without effects from what `ops` take."""
    own = frozenset(op.name for op in ops)
    for op in ops:
        for index in _bound_inputs(region, op):
            bound = SliceBound(op, index)
            if _trace_bound(region, own, bound):
                yield bound


def _trace_bound(region: Region, own: frozenset[str], bound: SliceBound) -> bool:
    """Add what computes `bound`, as far as it is `own`, and return whether that has no effect."""
    unread = [bound.tensor]
    while unread:
        tensor = unread.pop()
        op = tensor.op
        if op.name not in own or op.type in SHAPE_OPERATIONS:
            bound.sources[tensor.name] = tensor
        # It must not run twice; XLA then decides by the largest size.
        elif not has_no_effect(region, op):
            return False
        elif op.name not in bound.ops:
            bound.ops[op.name] = op
            unread += op.inputs
    return True


def _bound_inputs(region: Region, op: Operation) -> Sequence[int]:
    """Return the inputs of `op` that decide how large a slice is."""
    if op.type == "TopKV2":
        return [1]
    # A constant size needs no more: the bound is then only where the slice begins.
    if op.type == "Slice":
        return [] if op.inputs[2].op.type == "Const" else [1, 2]
    if op.type == "StridedSlice":
        return [1, 2] if _has_ranges(op) else []
    if holds_bodies(op):
        first = len(op.inputs) - len(arguments(op))
        return [first + place for place in _bound_arguments(region, op)]
    return []


def _has_ranges(op: Operation) -> bool:
    """Return whether a slice has a bound in an axis, as in `x[:n]`, and not only indices."""
    size = op.inputs[1].shape.num_elements()
    single = op.get_attr("shrink_axis_mask") | op.get_attr("new_axis_mask")
    whole = op.get_attr("begin_mask") & op.get_attr("end_mask")
    without = single | whole | op.get_attr("ellipsis_mask")
    constant = all(bound.op.type == "Const" for bound in op.inputs[1:3])
    return not constant and (size is None or without & (2**size - 1) != 2**size - 1)


def _bound_arguments(region: Region, op: Operation) -> list[int]:
    """Return the places of the arguments of `op` that are bounds of slices in its bodies."""
    held = bodies(region, op)
    places = {
        body.inputs.index(name)
        for body in held
        for bound in find_slice_bounds(body, body.ops)
        for name in bound.sources
        if name in body.inputs
    }
    return sorted(
        place for place in places if op.type not in WHILE or body_passes_on(held[1], place)
    )
