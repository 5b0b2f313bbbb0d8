"""The work of one replica in one step, counted in its graph: memory that it needs, and FLOPs.

It is read from the marked graph, not from XLA's program: the graph knows the user's lines, and
reading it compiles nothing. Where the graph leaves a size open, such as the batch, its operations
are built again from the shapes that the step was given, and TensorFlow infers the rest.

A loop counts as often as its condition lets it, if that follows from constants, and else once. Of
the branches of a conditional the one with the most FLOPs counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import tensorflow as tf

from tpulint.runtime.extract.bodies import CASE, IF, WHILE, arguments, bodies, holds_bodies
from tpulint.runtime.extract.copying import copy_operations
from tpulint.runtime.extract.program import ReplicatedProgram
from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.schedule.variables import variables_of
from tpulint.runtime.source_location import operation_location, user_location
from tpulint.runtime.tensorflow_internals import graphs

Shape = tuple[int, ...]


class SizedTensor(NamedTuple):
    """A tensor of the device, or a variable: its name, its shape, and the user's line."""

    name: str
    dtype: str
    shape: Shape
    place: str | None


class Product(NamedTuple):
    """A matrix product or convolution: `batch` products of (rows, depth) and (depth, columns).

    `bytes` are those of its operands and its result; `times` is how often the loops run it. A
    product that is not `on_matrix_unit` is a depthwise convolution: each channel is alone.
    """

    type: str
    name: str
    place: str | None
    batch: int
    rows: int
    depth: int
    columns: int
    bytes: float
    times: int
    on_matrix_unit: bool = True

    @property
    def flops(self) -> int:
        """Return the multiplications and additions."""
        return 2 * self.times * self.batch * self.rows * self.depth * self.columns


@dataclass
class StepWork:
    """What one step does on one core."""

    place: str | None = None
    variables: list[SizedTensor] = field(default_factory=list)
    slots: list[SizedTensor] = field(default_factory=list)
    gradients: list[SizedTensor] = field(default_factory=list)
    inputs: list[SizedTensor] = field(default_factory=list)
    tensors: list[SizedTensor] = field(default_factory=list)
    kept: list[SizedTensor] = field(default_factory=list)
    products: list[Product] = field(default_factory=list)
    unknown_shapes: int = 0
    uncounted_loops: int = 0

    @property
    def flops(self) -> int:
        """Return the FLOPs of the matrix products and convolutions."""
        return sum(product.flops for product in self.products)


class Recorded(NamedTuple):
    """A program that was built while costs were watched, and the shapes its inputs had last."""

    place: str | None
    program: ReplicatedProgram
    shapes: dict[str, Shape]


_recorders: list[Callable[[Recorded], None]] = []


@contextmanager
def watch_programs(recorder: Callable[[Recorded], None]) -> Iterator[None]:
    """Pass each program that is built in the context to `recorder`."""
    _recorders.append(recorder)
    try:
        yield
    finally:
        _recorders.remove(recorder)


def record_program(program: ReplicatedProgram) -> Recorded | None:
    """Tell the recorders of `program`; return the record that gets the shapes of its inputs."""
    if not _recorders:
        return None
    recorded = Recorded(user_location(), program, {})
    for recorder in tuple(_recorders):
        recorder(recorded)
    return recorded


def work_of(recorded: Recorded) -> StepWork:
    """Return the work of a step of a program that has run."""
    program = recorded.program
    shapes = {
        name: recorded.shapes.get(name, shape_of(tensors[0]))
        for name, tensors in program.boundary.items()
    }
    work = work_of_region(program.region, shapes)
    work.place = recorded.place
    _add_variables(work, program)
    handles = {variable.handle for variable in variables_of(program)}
    work.inputs = [
        SizedTensor(name, tensors[0].dtype.base_dtype.name, shape, None)
        for name, tensors in program.boundary.items()
        if name not in handles and name not in program.constants
        if (shape := shapes[name]) is not None and _is_data(tensors[0])
    ]
    return work


# Optimizers name their variables after themselves, or after what these hold.
_SLOT = re.compile(
    r"(?i)(^|/)(ada\w*|nadam|lion|ftrl|sgd|rmsprop|lamb)(_\d+)?(/|$)"
    r"|^(m|v|vhat|learning_rate|iterations?)(/|$)"
    r"|momentum|velocity|accumulator|(/|_)(m|v|rms|vhat)(_\d+)?$"
)

# What a step writes without a gradient: metrics, and the statistics of batch normalization.
_STATISTIC = re.compile(r"(^|/)(moving_\w+|total|count|seed_generator_state)(_\d+)?$")


def _add_variables(work: StepWork, program: ReplicatedProgram) -> None:
    for variable in variables_of(program):
        shape = graphs.variable_shape(program.boundary[variable.handle][0])
        if shape is None:
            work.unknown_shapes += 1
            continue
        touched = (*variable.on_device, *variable.on_host)
        place = operation_location(touched[0].op) if touched else None
        sized = SizedTensor(variable.name, variable.dtype.name, shape, place)
        is_slot = bool(_SLOT.search(variable.name))
        (work.slots if is_slot else work.variables).append(sized)
        # A model's weights are what a step changes: its gradients are as large.
        is_written = variable.dtype.is_floating and variable.device_writes
        if shape and is_written and not is_slot and not _STATISTIC.search(variable.name):
            work.gradients.append(sized)
    if not work.slots:
        # Without an optimizer's state, such as in evaluation, what is written is a metric.
        written = {tensor.shape for tensor in work.tensors}
        work.gradients = [sized for sized in work.gradients if sized.shape in written]


def work_of_region(region: Region, shapes: Mapping[str, Shape | None]) -> StepWork:
    """Return the tensors and products of `region`, whose inputs have `shapes`."""
    counter = _Counter()
    work = StepWork()
    counter.count(region, dict(shapes), {}, 1, work)
    return work


def shape_of(tensor: Tensor) -> Shape | None:
    """Return the shape of `tensor` that its graph knows, None where a size is open."""
    return tuple(tensor.shape.as_list()) if tensor.shape.is_fully_defined() else None


def _is_data(tensor: Tensor) -> bool:
    return tensor.dtype.base_dtype not in (tf.resource, tf.variant, tf.string)


class _Counter:
    """A walk through a region and the bodies in it."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[int, str], Shape | None] = {}
        self._ends: dict[tuple[int, str], int] = {}
        """The last values of the counters of loops, which the loops of gradients count down."""

    def count(
        self,
        region: Region,
        given: dict[str, Shape | None],
        values: dict[str, int],
        times: int,
        work: StepWork,
    ) -> None:
        """Add to `work` what `region` does `times`; its inputs have the shapes `given`."""
        self._infer(region, given)
        self._values = values
        for op in region.ops:
            if region.cluster_of(op) is not None:
                continue
            if holds_bodies(op):
                self._count_bodies(region, op, values, times, work)
                continue
            product = self._product(region, op, times)
            if product is not None:
                work.products.append(product)
            self._add_results(region, op, work)

    def _add_results(self, region: Region, op: Operation, work: StepWork) -> None:
        if op.type in _NO_MEMORY:
            return
        place: str | None = None
        for tensor in op.outputs:
            if not _is_data(tensor):
                continue
            shape = self._shape(region, tensor)
            if shape is None:
                work.unknown_shapes += not _is_of_sizes(tensor)
            elif math.prod(shape) >= _LEAST_ELEMENTS:
                place = place or operation_location(op)
                sized = SizedTensor(op.name, tensor.dtype.base_dtype.name, shape, place)
                work.tensors.append(sized)
                if not _is_of_gradient(op) and any(map(_is_of_gradient, tensor.consumers())):
                    work.kept.append(sized)

    def _count_bodies(
        self, region: Region, op: Operation, values: dict[str, int], times: int, work: StepWork
    ) -> None:
        handed_in = arguments(op)
        rounds: int | None = 1
        if op.type in WHILE:
            rounds = self._rounds(region, op, values)
            work.uncounted_loops += rounds is None
        branches: list[StepWork] = []
        for body in bodies(region, op):
            shapes = {
                name: self._shape(region, tensor)
                for name, tensor in zip(body.inputs, handed_in, strict=True)
            }
            passed = {
                name: value
                for name, tensor in zip(body.inputs, handed_in, strict=True)
                if (value := self._value(region, tensor, values)) is not None
                and op.type not in WHILE
            }
            if op.type in WHILE:
                passed = self._unchanged(region, op, body, values)
            inside = StepWork()
            self.count(body, shapes, passed, times * (rounds or 1), inside)
            branches.append(inside)
        if op.type in IF | CASE:
            branches = [max(branches, key=lambda branch: branch.flops)]
        for inside in branches:
            work.tensors += inside.tensors
            work.kept += inside.kept
            work.products += inside.products
            work.unknown_shapes += inside.unknown_shapes
            work.uncounted_loops += inside.uncounted_loops

    def _shape(self, region: Region, tensor: Tensor) -> Shape | None:
        shape = shape_of(tensor)
        return self._shapes.get((id(region.graph), tensor.name)) if shape is None else shape

    def _infer(self, region: Region, given: Mapping[str, Shape | None]) -> None:
        """Infer from the shapes `given` of its inputs what the graph of `region` leaves open."""
        known = {name: shape for name, shape in given.items() if shape is not None}
        for name, shape in known.items():
            self._shapes[id(region.graph), name] = shape
        open_ = any(
            shape_of(tensor) is None
            for op in region.ops
            for tensor in op.outputs
            if _is_data(tensor)
        )
        if not open_:
            return
        images: dict[str, Tensor] = {}
        with tf.Graph().as_default():
            for name in region.inputs:
                tensor = region.graph.get_tensor_by_name(name)
                images[name] = _placeholder(tensor, known.get(name))
            waiting: list[Operation] = []
            for op in region.ops:
                if op.type == "XlaSetDynamicDimensionSize":  # the bound is what takes memory
                    self._build(region, waiting, images)
                    waiting = []
                    bound = images[op.inputs[0].name]
                    images[op.outputs[0].name] = bound
                    self._shapes[id(region.graph), op.outputs[0].name] = shape_of(bound)
                elif holds_bodies(op) or region.cluster_of(op) is not None:
                    self._build(region, waiting, images)
                    waiting = []
                    self._infer_bodies(region, op, images)
                else:
                    waiting.append(op)
            self._build(region, waiting, images)

    def _build(self, region: Region, ops: Sequence[Operation], images: dict[str, Tensor]) -> None:
        if not ops:
            return
        order: dict[str, frozenset[str]] = {}
        copied = copy_operations(region, ops, images.__getitem__, order).tensors
        images.update(copied)
        for name, tensor in copied.items():
            self._shapes[id(region.graph), name] = shape_of(tensor)

    def _infer_bodies(self, region: Region, op: Operation, images: dict[str, Tensor]) -> None:
        """Infer the shapes of the results of `op` from those of its first body with all of them."""
        inner: tuple[Tensor, ...] = ()
        body: Region | None = None
        if region.cluster_of(op) is None:
            for body in bodies(region, op)[op.type in WHILE :]:
                shapes = {
                    name: shape_of(images[tensor.name])
                    for name, tensor in zip(body.inputs, arguments(op), strict=True)
                }
                self._infer(body, shapes)
                inner = tuple(body.outputs)
                break
        for place, tensor in enumerate(op.outputs):
            shape = shape_of(tensor)
            if shape is None and body is not None and place < len(inner):
                shape = self._shape(body, inner[place])
            self._shapes[id(region.graph), tensor.name] = shape
            images[tensor.name] = _placeholder(tensor, shape)

    def _value(self, region: Region, tensor: Tensor, values: Mapping[str, int]) -> int | None:
        """Return the number that `tensor` is, if it follows from constants."""
        while tensor.op.type in ("Identity", "StopGradient") and tensor.name not in values:
            tensor = tensor.op.inputs[0]
        if tensor.name in values:
            return values[tensor.name]
        if (id(region.graph), tensor.name) in self._ends:
            return self._ends[id(region.graph), tensor.name]
        if tensor.dtype not in (tf.int32, tf.int64) or tensor.shape.rank != 0:
            return None
        if tensor.op.type == "StridedSlice":  # mostly of a shape
            whole, begin = tensor.op.inputs[0], tf.get_static_value(tensor.op.inputs[1])
            is_shape = whole.op.type == "Shape"
            numbers = (
                self._shape(region, whole.op.inputs[0]) if is_shape else tf.get_static_value(whole)
            )
            return None if numbers is None or begin is None else int(numbers[int(begin[0])])
        value = tf.get_static_value(tensor)
        return None if value is None else int(value)

    def _unchanged(
        self, region: Region, op: Operation, body: Region, values: Mapping[str, int]
    ) -> dict[str, int]:
        """Return the numbers that the loop `op` passes to `body` in all rounds."""
        _, loop = bodies(region, op)
        return {
            name: value
            for name, tensor, inside, after in zip(
                body.inputs, op.inputs, loop.inputs, loop.outputs, strict=True
            )
            if _source(after).name == inside
            and (value := self._value(region, tensor, values)) is not None
        }

    def _rounds(self, region: Region, op: Operation, values: Mapping[str, int]) -> int | None:
        """Return how often the loop `op` runs, if one of its counters tells."""
        condition, body = bodies(region, op)
        starts = [self._value(region, tensor, values) for tensor in op.inputs]
        limits = self._unchanged(region, op, condition, values)
        least: int | None = None
        for test in _conjuncts(condition.outputs[0]):
            if test.op.type != "Less":
                continue
            counter, limit = map(_source, test.op.inputs)
            end = self._value(condition, limit, limits)
            if counter.name not in condition.inputs or end is None:
                continue
            number = condition.inputs.index(counter.name)
            start, step = starts[number], _increment(body, number)
            if start is not None and step:
                rounds = max(0, math.ceil((end - start) / step))
                least = rounds if least is None else min(least, rounds)
        if least is not None:
            for number, (start, result) in enumerate(zip(starts, op.outputs, strict=True)):
                step = _increment(body, number)
                if start is not None and step:
                    self._ends[id(region.graph), result.name] = start + least * step
        return least

    def _product(self, region: Region, op: Operation, times: int) -> Product | None:
        size = _SIZES.get(op.type)
        if size is None:
            return None
        tensors = (*op.inputs, *op.outputs)
        shapes = [self._shape(region, tensor) for tensor in tensors]
        operands = [*op.inputs, op.outputs[0]]
        inner, outer = shapes[: len(op.inputs)], shapes[len(op.inputs)]
        try:
            sizes = size(op, inner, outer)
        except (TypeError, IndexError):  # a shape is not known
            return None
        if sizes is None:
            return None
        moved = sum(
            math.prod(shape) * tensor.dtype.size
            for tensor, shape in zip(operands, [*inner, outer], strict=True)
            if shape is not None
        )
        on_matrix_unit = not op.type.startswith("Depthwise")
        place = operation_location(op)
        return Product(op.type, op.name, place, *sizes, moved, times, on_matrix_unit)


_LEAST_ELEMENTS = 1024
# What they return is no memory of its own.
_NO_MEMORY = frozenset({"Const", "Identity", "IdentityN", "NoOp", "Reshape", "StopGradient"}) | {
    *("ReadVariableOp", "ExpandDims", "Squeeze", "PreventGradient", "BroadcastTo", "Fill"),
    *("Bitcast", "Cast", "OnesLike", "Shape", "XlaSetDynamicDimensionSize", "ZerosLike"),
}


def _is_of_sizes(tensor: Tensor) -> bool:
    """Return whether `tensor` may be a list of axes, as gradients compute them: no memory."""
    return tensor.dtype in (tf.int32, tf.int64) and tensor.shape.rank == 1


def _is_of_gradient(op: Operation) -> bool:
    """Return whether a gradient made `op`: TensorFlow names it after what it is the gradient of."""
    return "gradient_tape/" in op.name or "gradients/" in op.name


def _placeholder(tensor: Tensor, shape: Shape | None) -> Tensor:
    image = tf.compat.v1.placeholder(
        tensor.dtype, shape if shape is not None else tensor.shape, name="given"
    )
    if tensor.dtype == tf.resource:
        graphs.copy_handle_data(tensor, image)
    return image


def _source(tensor: Tensor) -> Tensor:
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def _conjuncts(tensor: Tensor) -> Iterator[Tensor]:
    tensor = _source(tensor)
    if tensor.op.type == "LogicalAnd":
        for part in tensor.op.inputs:
            yield from _conjuncts(part)
    else:
        yield tensor


def _increment(body: Region, number: int) -> int | None:
    """Return what a round of `body` adds to its argument `number`, if it is a constant."""
    result = _source(body.outputs[number])
    if result.op.type not in ("Add", "AddV2"):
        return None
    first, second = map(_source, result.op.inputs)
    if first.name != body.inputs[number]:
        first, second = second, first
    if first.name != body.inputs[number]:
        return None
    value = tf.get_static_value(second)
    return None if value is None or value.shape else int(value)


# The sizes of a product: how many there are, and the rows, depth and columns of each.
Sizes = tuple[int, int, int, int]
Shapes = Sequence[Any]


def _matrix_product(op: Operation, inputs: Shapes, output: Any) -> Sizes:
    depth = inputs[0][0 if op.get_attr("transpose_a") else 1]
    return 1, output[0], depth, output[1]


def _batch_product(op: Operation, inputs: Shapes, output: Any) -> Sizes:
    depth = inputs[0][-2 if op.get_attr("adj_x") else -1]
    return math.prod(output[:-2]), output[-2], depth, output[-1]


def _einsum(op: Operation, inputs: Shapes, output: Any) -> Sizes | None:
    terms, _, result = op.get_attr("equation").decode().replace(" ", "").partition("->")
    names = terms.split(",")
    if len(names) != 2:
        return None
    result, *names = (_without_dots(name) for name in (result, *names))
    sizes: dict[str, int] = {}
    for name, shape in zip((*names, result), (*inputs, output), strict=True):
        # The dimensions of an ellipsis are the first ones: all are batch.
        sizes.update(zip(reversed(name), reversed(shape)))
    batch = math.prod(output[: len(output) - len(result)])
    left, right, out = set(names[0]), set(names[1]), set(result)
    return (
        batch * math.prod(sizes[name] for name in left & right & out),
        math.prod(sizes[name] for name in (left & out) - right),
        math.prod(sizes[name] for name in (left & right) - out),
        math.prod(sizes[name] for name in (right & out) - left),
    )


def _without_dots(term: str) -> str:
    return term.rpartition("...")[2]


def _channels(op: Operation, shape: Shape) -> int:
    return shape[1 if op.get_attr("data_format").startswith(b"NC") else -1]


def _spatial(op: Operation, shape: Shape) -> Shape:
    return shape[2:] if op.get_attr("data_format").startswith(b"NC") else shape[1:-1]


def _convolution(op: Operation, image: Any, kernel: Any, result: Any) -> Sizes:
    """Return the sizes of a convolution: each pixel of `result` is a row."""
    groups = _channels(op, image) // kernel[-2]
    rows = result[0] * math.prod(_spatial(op, result))
    return groups, rows, math.prod(kernel[:-1]), kernel[-1] // groups


def _forward(op: Operation, inputs: Shapes, output: Any) -> Sizes:
    return _convolution(op, inputs[0], inputs[1], output)


def _to_input(op: Operation, inputs: Shapes, output: Any) -> Sizes:
    groups, rows, depth, columns = _convolution(op, output, inputs[1], inputs[2])
    return groups, rows, columns, depth


def _to_filter(op: Operation, inputs: Shapes, output: Any) -> Sizes:
    groups, rows, depth, columns = _convolution(op, inputs[0], output, inputs[2])
    return groups, depth, rows, columns


def _depthwise(op: Operation, kernel: Any, result: Any) -> Sizes:
    """Return the sizes of a depthwise convolution: a kernel of each channel is alone."""
    pixels = result[0] * math.prod(_spatial(op, result))
    return kernel[-2] * kernel[-1], pixels, math.prod(kernel[:-2]), 1


_SIZES: dict[str, Callable[[Operation, Shapes, Any], Sizes | None]] = {
    "MatMul": _matrix_product,
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _batch_product),
    "Einsum": _einsum,
    **dict.fromkeys(("Conv2D", "Conv3D"), _forward),
    **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInputV2"), _to_input),
    **dict.fromkeys(("Conv2DBackpropFilter", "Conv3DBackpropFilterV2"), _to_filter),
    "DepthwiseConv2dNative": lambda op, inputs, output: _depthwise(op, inputs[1], output),
    "DepthwiseConv2dNativeBackpropInput": lambda op, inputs, output: _depthwise(
        op, inputs[1], inputs[2]
    ),
    "DepthwiseConv2dNativeBackpropFilter": lambda op, inputs, output: _depthwise(
        op, output, inputs[2]
    ),
}
