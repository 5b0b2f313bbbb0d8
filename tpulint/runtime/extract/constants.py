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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import tensorflow as tf

from tpulint.ordering import COLLECTIVES, FEEDS, ONLY_OF_TPUS, reachable
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
    by_name = dict(_named_arguments(op, inputs))
    # It infers the other attributes from its arguments.
    attributes = inspect.signature(compute).parameters.keys() - by_name.keys() - {"name"}
    # By TensorFlow itself: no second implementation of its operations.
    with graphs.eager_mode():
        results = compute(**by_name, **{name: op.get_attr(name) for name in attributes})
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
    """A constant, by the tensor of a region that has its value, and what computes it, by name."""

    scope: ConstantScope
    tensor: Tensor
    ops: dict[str, Operation] = field(default_factory=dict)
    sizes: dict[str, Any] = field(default_factory=dict)
    others: dict[str, DeviceConstant] = field(default_factory=dict)
    shaped: dict[str, tuple[ConstantScope, Tensor]] = field(default_factory=dict)
    """The tensors of which only the shape is used."""


def device_constant(scope: ConstantScope, tensor: Tensor) -> DeviceConstant | None:
    """Return `tensor` of the region of `scope` as a constant.

    None if it depends on data, or has effects, or is large.
    """
    if (tensor.shape.num_elements() or 0) > _MAX_ELEMENTS:
        return None
    value = DeviceConstant(scope, tensor)
    seen: set[str] = set()
    unread = [tensor]
    while unread:
        inner = unread.pop()
        if inner.name in seen:
            continue
        seen.add(inner.name)
        other = _constant_of_other_region(scope, inner)
        if other:
            value.others[inner.name] = other
        elif inner.op.type in SHAPE_OPERATIONS:
            if not _add_shape(value, inner):
                return None
        elif has_no_effect(scope.region, inner.op):
            value.ops[inner.op.name] = inner.op
            unread += inner.op.inputs
        else:
            return None
    return value


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
    yield from value.shaped.values()
    for other in value.others.values():
        yield from shaped_tensors(other)


def recompute(value: DeviceConstant, shaped: Callable[[ConstantScope, Tensor], Tensor]) -> Tensor:
    """Return `value`, computed in the graph that is being built; `shaped` gives `shaped_tensors`'.

    It is the device's.
    """
    taken = {name: recompute(other, shaped) for name, other in value.others.items()}
    taken |= {name: tf.constant(*size) for name, size in value.sizes.items()}
    taken |= {name: shaped(*source) for name, source in value.shaped.items()}
    name = value.tensor.name
    if name in taken:
        return taken[name]
    ops = list(value.ops.values())
    copied = copy_operations(value.scope.region, ops, taken.__getitem__, {}, on_device=True)
    return copied.tensors[name]


def _add_shape(value: DeviceConstant, tensor: Tensor) -> bool:
    """Add `tensor`, of a shape, to what computes `value`; return whether that can be done."""
    op = tensor.op
    shape = op.inputs[tensor.value_index].shape
    size: Any = None
    if op.type == "Rank":
        size = shape.rank
    elif shape.is_fully_defined():
        size = shape.num_elements() if op.type == "Size" else shape.as_list()
    if size is not None:
        value.sizes[tensor.name] = size, tensor.dtype
        return True
    for inner in op.inputs:
        around, source = _argument(value.scope, inner)
        if around.image is None or source.dtype in _NO_DATA:
            return False
        value.shaped[inner.name] = around, source
    value.ops[op.name] = op
    return True


def _argument(scope: ConstantScope, tensor: Tensor) -> tuple[ConstantScope, Tensor]:
    """Return the argument of calls that `tensor` is, and its scope; else `tensor` itself."""
    while scope.call is not None and tensor.name in scope.call[1]:
        scope, handed_in = scope.call
        tensor = handed_in[tensor.name]
    return scope, tensor


def _constant_of_other_region(scope: ConstantScope, tensor: Tensor) -> DeviceConstant | None:
    """Return the constant that gives `tensor` its value, if the operation of that is elsewhere."""
    op = tensor.op
    if tensor.name in scope.inputs:
        return scope.inputs[tensor.name]
    if tensor.name in scope.region.inputs:
        return None
    if op.type == "Placeholder":
        captures = getattr(tensor.graph, "captures", ())
        outer = next((outer for outer, inner in captures if inner is tensor), None)
        if outer is None or isinstance(outer, graphs.EagerTensor):
            return None
        return device_constant(_scope_of(outer.graph), outer)
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
        return self.op.inputs[self.index]


def find_slice_bounds(region: Region, ops: Sequence[Operation]) -> Iterator[SliceBound]:
    """Yield the bounds of slices that are computed without effects from what `ops` take."""
    own = frozenset(op.name for op in ops)

    def is_source(tensor: Tensor) -> bool:
        return tensor.op.name not in own or tensor.op.type in SHAPE_OPERATIONS

    def inputs(tensor: Tensor) -> Iterable[Tensor]:
        return () if is_source(tensor) else tensor.op.inputs

    for op in ops:
        for index in _bound_inputs(region, op):
            bound = SliceBound(op, index)
            for tensor in reachable([bound.tensor], inputs, attrgetter("name")):
                if is_source(tensor):
                    bound.sources[tensor.name] = tensor
                elif has_no_effect(region, tensor.op):
                    bound.ops[tensor.op.name] = tensor.op
                else:  # it must not run twice; XLA then decides by the largest size
                    break
            else:
                yield bound


def _bound_inputs(region: Region, op: Operation) -> Sequence[int]:
    """Return the inputs of `op` that decide how large a slice is."""
    if op.type == "TopKV2":
        return [1]
    # A constant size needs no more: the bound is then only where the slice begins.
    if op.type == "Slice":
        return [] if op.inputs[2].op.type == "Const" else [1, 2]
    if op.type == "StridedSlice":
        return [1, 2] if _has_ranges(op) else []
    if not holds_bodies(op):
        return []
    held = bodies(region, op)
    places = {
        body.inputs.index(name)
        for body in held
        for bound in find_slice_bounds(body, body.ops)
        for name in bound.sources
        if name in body.inputs
    }
    first = len(op.inputs) - len(arguments(op))
    return [
        first + place
        for place in sorted(places)
        if op.type not in WHILE or body_passes_on(held[1], place)
    ]


def _has_ranges(op: Operation) -> bool:
    """Return whether a slice has a bound in an axis, as in `x[:n]`, and not only indices."""
    size = op.inputs[1].shape.num_elements()
    single = op.get_attr("shrink_axis_mask") | op.get_attr("new_axis_mask")
    whole = op.get_attr("begin_mask") & op.get_attr("end_mask")
    without = single | whole | op.get_attr("ellipsis_mask")
    constant = all(bound.op.type == "Const" for bound in op.inputs[1:3])
    return not constant and (size is None or without & (2**size - 1) != 2**size - 1)
