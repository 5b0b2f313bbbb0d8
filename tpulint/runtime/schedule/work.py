"""The work of one replica in one step, counted in its graph: memory that it needs, and FLOPs.

It is read from the marked graph, not from XLA's program: the graph knows the user's lines, and
reading it compiles nothing. Where the graph leaves a size open, such as the batch, its operations
are built again from the shapes that the step was given, and TensorFlow infers the rest.

A loop counts as often as its condition lets it, if that follows from constants. Of one that depends
on data the step returns how often it ran; one inside a function or another loop counts once. Of the
branches of a conditional the one with the most FLOPs counts.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

import tensorflow as tf

from tpulint.hardware import MOSTLY_PADDING, padding_factor
from tpulint.runtime.emulator import Listeners
from tpulint.runtime.extract.bodies import CASE, IF, WHILE, arguments, bodies, holds_bodies
from tpulint.runtime.extract.copying import copy_operations
from tpulint.runtime.extract.program import ReplicatedProgram
from tpulint.runtime.extract.region import Operation, Region, Tensor, skip_identities
from tpulint.runtime.schedule.products import SIZES
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
    measured_loops: int = 0
    """The loops that depend on data, and count as often as they ran on average."""
    uncounted_loops: int = 0

    @property
    def flops(self) -> int:
        """Return the FLOPs of the matrix products and convolutions."""
        return sum(product.flops for product in self.products)


@dataclass
class Rounds:
    """The rounds of a loop, in all its runs."""

    rounds: int = 0
    runs: int = 0

    def add(self, rounds: int) -> None:
        """Add a run of `rounds`."""
        self.rounds += rounds
        self.runs += 1


class Recorded(NamedTuple):
    """A program that was built while costs were watched, and the shapes its inputs had last.

    Its last results are the counters of the loops in `rounds`, which the user does not get.
    """

    place: str | None
    program: ReplicatedProgram
    shapes: dict[str, Shape]
    rounds: dict[str, Rounds]


_recorders: Listeners[Recorded] = Listeners()
watch_programs = _recorders.including
"""A context that passes each program that is built to a function."""


def record_program(program: ReplicatedProgram) -> Recorded | None:
    """Tell the recorders of `program`; return the record that gets the shapes of its inputs."""
    if not _recorders:
        return None
    counters = _Counter().counters_to_measure(program.region)
    region = replace(program.region, outputs=(*program.region.outputs, *counters))
    rounds = {counter.name: Rounds() for counter in counters}
    recorded = Recorded(user_location(), replace(program, region=region), {}, rounds)
    _recorders(recorded)
    return recorded


def work_of(recorded: Recorded) -> StepWork:
    """Return the work of a step of a program that has run."""
    program = recorded.program
    shapes = {
        name: recorded.shapes.get(name, shape_of(tensors[0]))
        for name, tensors in program.boundary.items()
    }
    work = work_of_region(program.region, shapes, recorded.rounds)
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
        spec = graphs.variable_spec(program.boundary[variable.handle][0])
        if spec is None or not spec.shape.is_fully_defined():
            work.unknown_shapes += 1
            continue
        shape = tuple(spec.shape.as_list())
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


def work_of_region(
    region: Region,
    shapes: Mapping[str, Shape | None],
    measured: Mapping[str, Rounds] = MappingProxyType({}),
) -> StepWork:
    """Return the tensors and products of `region`, whose inputs have `shapes`.

    measured: the rounds of loops of `region`, by the names of their counters.
    """
    means = {name: round(loop.rounds / loop.runs) for name, loop in measured.items() if loop.runs}
    counter = _Counter({(id(region.graph), name): mean for name, mean in means.items()})
    work = StepWork()
    counter.count(region, shapes, 1, work)
    return work


def shape_of(tensor: Tensor) -> Shape | None:
    """Return the shape of `tensor` that its graph knows, None where a size is open."""
    return tuple(tensor.shape.as_list()) if tensor.shape.is_fully_defined() else None


def _is_data(tensor: Tensor) -> bool:
    return tensor.dtype.base_dtype not in (tf.resource, tf.variant, tf.string)


class _Count(NamedTuple):
    """An integer variable of a loop."""

    start: int
    step: int


class _Counter:
    """A walk through a region and the bodies in it."""

    def __init__(self, measured: Mapping[tuple[int, str], int] = MappingProxyType({})) -> None:
        self._measured = measured
        """The rounds of loops that have run, by the graph and the name of the counter."""
        self._shapes: dict[tuple[int, str], Shape | None] = {}
        self._values: dict[tuple[int, str], int] = {}
        """The numbers that bodies get now, and the last ones of the counters of loops, which the
        loops of gradients count down."""

    def counters_to_measure(self, region: Region) -> list[Tensor]:
        """Return a counter of each loop of `region` whose rounds depend on data."""
        counters = []
        for op in region.ops:
            if op.type in WHILE and region.cluster_of(op) is None:
                most, is_exact = self._bound(region, op)
                counter = self._counter(region, op)
                if counter is not None and not is_exact:
                    counters.append(counter)
                elif most is not None:
                    self._note_ends(region, op, most)
        return counters

    def count(
        self, region: Region, given: Mapping[str, Shape | None], times: int, work: StepWork
    ) -> None:
        """Add to `work` what `region` does `times`; its inputs have the shapes `given`."""
        self._infer(region, given)
        for op in region.ops:
            if region.cluster_of(op) is not None:
                continue
            if holds_bodies(op):
                self._count_bodies(region, op, times, work)
                continue
            product = self._product(op, times)
            if product is not None:
                work.products.append(product)
            self._add_results(op, work)

    def _add_results(self, op: Operation, work: StepWork) -> None:
        if op.type in _NO_MEMORY and not self._makes_padding(op):
            return
        place: str | None = None
        for tensor in op.outputs:
            if not _is_data(tensor):
                continue
            shape = self._shape(tensor)
            if shape is None:
                # A vector of integers may be a list of axes, as gradients compute them: no memory.
                is_of_axes = tensor.dtype in (tf.int32, tf.int64) and tensor.shape.rank == 1
                work.unknown_shapes += not is_of_axes
            elif math.prod(shape) >= _LEAST_ELEMENTS:
                place = place or operation_location(op)
                sized = SizedTensor(op.name, tensor.dtype.base_dtype.name, shape, place)
                work.tensors.append(sized)
                if op.type in _NO_MEMORY or _is_of_gradient(op):
                    continue
                if any(map(_is_of_gradient, tensor.consumers())):
                    work.kept.append(sized)

    def _makes_padding(self, op: Operation) -> bool:
        """Return whether `op` is a reshape that XLA cannot make in place: it pads what it takes."""
        if op.type != "Reshape" or not _is_data(op.outputs[0]):
            return False
        dtype, tensors = op.outputs[0].dtype.name, (op.inputs[0], op.outputs[0])
        shapes = (self._shape(tensor) for tensor in tensors)
        before, after = (1.0 if shape is None else padding_factor(shape, dtype) for shape in shapes)
        return after >= MOSTLY_PADDING > before

    def _count_bodies(self, region: Region, op: Operation, times: int, work: StepWork) -> None:
        is_loop, is_conditional = op.type in WHILE, op.type in IF | CASE
        # A loop whose rounds are not known counts once.
        rounds = self._rounds(region, op, work) or 1 if is_loop else 1
        branches: list[StepWork] = []
        for body in bodies(region, op):
            handed_in = dict(zip(body.inputs, arguments(op), strict=True))
            shapes = {name: self._shape(tensor) for name, tensor in handed_in.items()}
            if is_loop:
                self._enter_loop(region, op, body)
            else:
                for name, tensor in handed_in.items():
                    self._note_value(body, name, self._value(tensor))
            # Of a conditional one branch counts.
            inside = StepWork() if is_conditional else work
            self.count(body, shapes, times * rounds, inside)
            branches.append(inside)
        if is_conditional:
            most = max(branches, key=lambda branch: branch.flops)
            work.tensors += most.tensors
            work.kept += most.kept
            work.products += most.products
            work.unknown_shapes += most.unknown_shapes
            work.measured_loops += most.measured_loops
            work.uncounted_loops += most.uncounted_loops

    def _shape(self, tensor: Tensor) -> Shape | None:
        shape = shape_of(tensor)
        return self._shapes.get((id(tensor.graph), tensor.name)) if shape is None else shape

    def _infer(self, region: Region, given: Mapping[str, Shape | None]) -> None:
        """Infer from the shapes `given` of its inputs what the graph of `region` leaves open."""
        known_shapes = {name: shape for name, shape in given.items() if shape is not None}
        for name, shape in known_shapes.items():
            self._shapes[id(region.graph), name] = shape
        data = (tensor for op in region.ops for tensor in op.outputs if _is_data(tensor))
        if all(shape_of(tensor) is not None for tensor in data):
            return
        images: dict[str, Tensor] = {}
        with tf.Graph().as_default():
            for name in region.inputs:
                tensor = region.graph.get_tensor_by_name(name)
                images[name] = _placeholder(tensor, known_shapes.get(name))
            waiting: list[Operation] = []
            for op in region.ops:
                is_bound = op.type == "XlaSetDynamicDimensionSize"
                if not (is_bound or holds_bodies(op) or region.cluster_of(op) is not None):
                    waiting.append(op)
                    continue
                self._build(region, waiting, images)
                waiting = []
                if is_bound:  # the bound is what takes memory
                    bound = images[op.inputs[0].name]
                    images[op.outputs[0].name] = bound
                    self._shapes[id(region.graph), op.outputs[0].name] = shape_of(bound)
                else:
                    self._infer_bodies(region, op, images)
            self._build(region, waiting, images)

    def _build(self, region: Region, ops: Sequence[Operation], images: dict[str, Tensor]) -> None:
        if not ops:
            return
        copied = copy_operations(region, ops, images.__getitem__, {}).tensors
        images.update(copied)
        for name, tensor in copied.items():
            self._shapes[id(region.graph), name] = shape_of(tensor)

    def _infer_bodies(self, region: Region, op: Operation, images: dict[str, Tensor]) -> None:
        """Infer the shapes of the results of `op` from those of its first body with all of them."""
        body: Region | None = None
        if region.cluster_of(op) is None:
            body = next(iter(bodies(region, op)[op.type in WHILE :]), None)
        if body is not None:
            shapes = {
                name: shape_of(images[tensor.name])
                for name, tensor in zip(body.inputs, arguments(op), strict=True)
            }
            self._infer(body, shapes)
        for place, tensor in enumerate(op.outputs):
            shape = shape_of(tensor)
            if shape is None and body is not None and place < len(body.outputs):
                shape = self._shape(body.outputs[place])
            self._shapes[id(region.graph), tensor.name] = shape
            images[tensor.name] = _placeholder(tensor, shape)

    def _value(self, tensor: Tensor, depth: int = 0) -> int | None:
        """Return the number or truth value that `tensor` is, if it follows from constants."""
        graph = id(tensor.graph)
        while tensor.op.type in _PASS_ON and (graph, tensor.name) not in self._values:
            tensor = tensor.op.inputs[0]
        if (graph, tensor.name) in self._values:
            return self._values[graph, tensor.name]
        if tensor.dtype not in (tf.int32, tf.int64, tf.bool) or tensor.shape.rank != 0:
            return None
        compute = _COMPUTED.get(tensor.op.type)
        if compute is not None and depth < _DEEPEST:
            operands = [self._value(operand, depth + 1) for operand in tensor.op.inputs]
            if tensor.op.type == "LogicalAnd" and 0 in operands:
                return 0
            return None if None in operands else int(compute(*operands))
        if tensor.op.type == "StridedSlice":  # mostly of a shape
            whole, begin = tensor.op.inputs[0], tf.get_static_value(tensor.op.inputs[1])
            is_shape = whole.op.type == "Shape"
            numbers = self._shape(whole.op.inputs[0]) if is_shape else tf.get_static_value(whole)
            return None if numbers is None or begin is None else int(numbers[int(begin[0])])
        value = tf.get_static_value(tensor)
        return None if value is None else int(value)

    def _note_value(self, body: Region, name: str, value: int | None) -> None:
        """Note the number that the input `name` of `body` is, None where it is not known."""
        self._values.pop((id(body.graph), name), None)
        if value is not None:
            self._values[id(body.graph), name] = value

    def _enter_loop(self, region: Region, op: Operation, body: Region) -> None:
        """Note the numbers that the loop `op` passes to `body` in all rounds."""
        _, loop = bodies(region, op)
        for name, tensor, inside, after in zip(
            body.inputs, op.inputs, loop.inputs, loop.outputs, strict=True
        ):
            is_unchanged = skip_identities(after).name == inside
            self._note_value(body, name, self._value(tensor) if is_unchanged else None)

    def _rounds(self, region: Region, op: Operation, work: StepWork) -> int | None:
        """Return how often the loop `op` runs: as measured, or if one of its counters tells."""
        counter = self._counter(region, op)
        name = "" if counter is None else counter.name
        rounds = self._measured.get((id(region.graph), name))
        work.measured_loops += rounds is not None
        if rounds is None:
            rounds, _ = self._bound(region, op)
            work.uncounted_loops += rounds is None
        if rounds is not None:
            self._note_ends(region, op, rounds)
        return rounds

    def _bound(self, region: Region, op: Operation) -> tuple[int | None, bool]:
        """Return the most rounds of the loop `op`, and whether it always makes them."""
        condition, _ = bodies(region, op)
        counts = self._counts(region, op)
        self._enter_loop(region, op, condition)
        bounds: list[int] = []
        tests = list(self._conjuncts(condition.outputs[0]))
        for test in tests:
            if test.op.type not in ("Less", "Greater"):
                continue
            counter, limit = map(skip_identities, test.op.inputs)
            end = self._value(limit)
            if counter.name not in condition.inputs or end is None:
                continue
            number = condition.inputs.index(counter.name)
            if number in counts and (counts[number].step > 0) == (test.op.type == "Less"):
                start, step = counts[number]
                bounds.append(max(0, math.ceil((end - start) / step)))
        return min(bounds, default=None), len(bounds) == len(tests)

    def _conjuncts(self, tensor: Tensor) -> Iterator[Tensor]:
        """Yield the tests that have to hold for another round, without those that always do."""
        tensor = skip_identities(tensor)
        parts = tuple(tensor.op.inputs)
        # AutoGraph tests for both signs of a range's step, which is mostly a constant.
        if tensor.op.type == "LogicalOr":
            parts = tuple(part for part in parts if self._value(part) != 0)
        if tensor.op.type == "LogicalAnd" or (tensor.op.type == "LogicalOr" and len(parts) == 1):
            for part in parts:
                yield from self._conjuncts(part)
        elif not self._value(tensor):
            yield tensor

    def _counter(self, region: Region, op: Operation) -> Tensor | None:
        """Return the result of the loop `op` that is the number of its rounds; most have one."""
        counts = self._counts(region, op)
        number = next((number for number, count in counts.items() if count == (0, 1)), None)
        return None if number is None else op.outputs[number]

    def _note_ends(self, region: Region, op: Operation, rounds: int) -> None:
        for number, (start, step) in self._counts(region, op).items():
            self._values[id(region.graph), op.outputs[number].name] = start + rounds * step

    def _counts(self, region: Region, op: Operation) -> dict[int, _Count]:
        """Return the variables of the loop `op`, by number, to which a round adds a constant."""
        _, body = bodies(region, op)
        self._enter_loop(region, op, body)
        counts: dict[int, _Count] = {}
        for number, (tensor, name, after) in enumerate(
            zip(op.inputs, body.inputs, body.outputs, strict=True)
        ):
            start, result = self._value(tensor), skip_identities(after)
            if start is None or result.op.type not in ("Add", "AddV2"):
                continue
            first, second = map(skip_identities, result.op.inputs)
            if first.name != name:
                first, second = second, first
            step = self._value(second)
            if first.name == name and step:
                counts[number] = _Count(start, step)
        return counts

    def _product(self, op: Operation, times: int) -> Product | None:
        size = SIZES.get(op.type)
        if size is None:
            return None
        operands = [*op.inputs, op.outputs[0]]
        shapes = [self._shape(tensor) for tensor in operands]
        try:
            sizes = size(op, shapes[:-1], shapes[-1])
        except (TypeError, IndexError):  # a shape is not known
            return None
        if sizes is None:
            return None
        moved = sum(
            math.prod(shape) * tensor.dtype.size
            for tensor, shape in zip(operands, shapes, strict=True)
            if shape is not None
        )
        on_matrix_unit = not op.type.startswith("Depthwise")
        place = operation_location(op)
        return Product(op.type, op.name, place, *sizes, moved, times, on_matrix_unit)


# What is computed of numbers: AutoGraph computes the length of a range in the graph.
_COMPUTED: dict[str, Callable[..., int]] = {
    **dict.fromkeys(("Add", "AddV2"), operator.add),
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Maximum": max,
    "Minimum": min,
    "Less": operator.lt,
    "Greater": operator.gt,
    "NotEqual": operator.ne,
    "LessEqual": operator.le,
    "GreaterEqual": operator.ge,
    "LogicalAnd": operator.and_,
    "FloorDiv": lambda x, y: x // (y or 1),
    "FloorMod": lambda x, y: x % (y or 1),
    "Cast": int,
    "ZerosLike": lambda _: 0,
}
_DEEPEST = 20
_PASS_ON = frozenset({"Identity", "StopGradient"})
_LEAST_ELEMENTS = 1024
# What they return is no memory of its own.
_NO_MEMORY = frozenset({"Const", "Identity", "IdentityN", "NoOp", "Reshape", "StopGradient"}) | {
    *("ReadVariableOp", "ExpandDims", "Squeeze", "PreventGradient", "BroadcastTo", "Fill"),
    *("Bitcast", "Cast", "OnesLike", "Shape", "XlaSetDynamicDimensionSize", "ZerosLike"),
}


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
