"""Conditionals, loops and calls that hold both sides, rebuilt around their segments.

Host clusters in them that wait for a variable of the device program, and that nothing on the device
waits for, run only when the program has ended. Each time one is reached, its inputs go into a
queue; when the variable is free again, it runs once for each entry.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import tensorflow as tf

from tpulint.runtime.execute.tensor_map import (
    TensorMap,
    constant_or_image,
    empty_iteration,
    token_after,
)
from tpulint.runtime.extract.bodies import CASE, IF, WHILE, arguments, bodies, is_resource
from tpulint.runtime.extract.constants import body_passes_on
from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.schedule.schedule import Plan

_queue_numbers = itertools.count()


@dataclass(frozen=True, eq=False)
class DeferredCluster:
    """The operations of a body in `planned`; `handles` maps its handles to the computation's."""

    planned: Plan
    values: tuple[Tensor, ...]
    handles: Mapping[str, str]
    queue_name: str

    def put(self, images: TensorMap) -> Operation:
        """Note, in the body, that its operations have been reached."""
        values = [
            constant_or_image(self.planned.region, tensor.name, images, on_host=True)
            for tensor in self.values
        ]
        return tf.raw_ops.QueueEnqueueV2(
            handle=self._queue(), components=[tf.constant(True), *values], timeout_ms=-1
        )

    def clear(self) -> Operation:
        """Empty the queue of entries that a failed step may have left."""
        return self._for_each(lambda values: [values[0].op], ())

    def run(
        self,
        around: TensorMap,
        waits_for: Sequence[Operation],
        build: Callable[[Plan, TensorMap], None],
    ) -> Operation:
        """Run the operations once for each time that they were reached."""

        def once(values: Sequence[Tensor]) -> list[Operation]:
            images = TensorMap(
                {inner: around.tensors[outer] for inner, outer in self.handles.items()},
                entry=(values[0].op,),
                replica=around.replica,
                iteration=empty_iteration(),
            )
            for tensor, value in zip(self.values, values[1:], strict=True):
                value.set_shape(tensor.shape)
                images.tensors[tensor.name] = value
            build(self.planned, images)
            return images.effects

        return self._for_each(once, waits_for)

    def _for_each(
        self, act: Callable[[Sequence[Tensor]], list[Operation]], waits_for: Sequence[Operation]
    ) -> Operation:
        def is_left(before: Tensor) -> Tensor:
            with tf.control_dependencies([before]):
                return tf.raw_ops.QueueSizeV2(handle=self._queue()) > 0

        def one(before: Tensor) -> Tensor:
            with tf.control_dependencies([before]):
                values = tf.raw_ops.QueueDequeueV2(
                    handle=self._queue(), component_types=self._dtypes(), timeout_ms=-1
                )
            with tf.control_dependencies(act(values)):
                return tf.identity(before)

        with tf.control_dependencies(waits_for):
            start = tf.identity(True)
        return tf.while_loop(is_left, one, [start], parallel_iterations=1)[0].op

    def _queue(self) -> Tensor:
        return tf.raw_ops.FIFOQueueV2(
            component_types=self._dtypes(),
            shapes=[],
            capacity=-1,
            container="",
            shared_name=self.queue_name,
        )

    def _dtypes(self) -> list[Any]:
        return [tf.bool, *(tensor.dtype.base_dtype for tensor in self.values)]


def defer(planned: Plan, images: TensorMap) -> DeferredCluster:
    """Return a record of each time that `planned` is reached, with `images` around it."""
    region = planned.region
    taken = {
        tensor.name: tensor
        for op in region.ops
        for tensor in op.inputs
        if tensor.name in region.inputs
    }
    return DeferredCluster(
        planned,
        tuple(tensor for tensor in taken.values() if not is_resource(tensor)),
        {name: images.handles[name] for name, tensor in taken.items() if is_resource(tensor)},
        f"tpulint_deferred_{next(_queue_numbers)}",
    )


# (number, body, images, given): builds that body of an operation, with the arguments `given`.
BuildBody = Callable[[int, Region, TensorMap, Sequence[Tensor]], None]


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """The images of an operation's outputs, and an operation that runs when all in it has run."""

    outputs: Sequence[Tensor]
    done: Operation
    rounds: Tensor = None
    """The number of rounds that a loop has made."""


class Image(Protocol):
    """The images of the tensors of the region around; without `captured`, of any graph around."""

    def __call__(self, name: str, on_host: bool, captured: bool = True) -> Tensor: ...


@dataclass(frozen=True, eq=False)
class Rebuilder:
    """A rebuilder of `op`, a conditional, loop or call of `region`, which waits for `waits_for`."""

    region: Region
    op: Operation
    image: Image
    waits_for: Sequence[Operation]
    build_body: BuildBody

    def rebuild(self) -> Rebuilt:
        """Rebuild the operation around the segments of its bodies."""
        if self.op.type in WHILE:
            return self._loop()
        if self.op.type in IF | CASE:
            return self._conditional()
        return self._call()

    def _call(self) -> Rebuilt:
        (body,) = bodies(self.region, self.op)
        images = _images_of_inputs(body, arguments(self.op), self.image)
        images.entry = tuple(self.waits_for)
        self.build_body(0, body, images, arguments(self.op))
        with tf.control_dependencies([*self.waits_for, *images.effects]):
            done = tf.no_op()
        return Rebuilt([_image_of_result(body, out, images) for out in body.outputs], done)

    def _conditional(self) -> Rebuilt:
        handed_in = arguments(self.op)

        def branch(number: int, body: Region) -> list[Tensor]:
            images = _images_of_inputs(body, handed_in, self.image)
            self.build_body(number, body, images, handed_in)
            outputs = [_image_of_result(body, out, images) for out in body.outputs]
            return [token_after(images.effects), *(tf.identity(tensor) for tensor in outputs)]

        chosen_by = self.image(self.op.inputs[0].name, False)
        branches = [
            partial(branch, *numbered) for numbered in enumerate(bodies(self.region, self.op))
        ]
        with tf.control_dependencies(self.waits_for):
            if self.op.type in IF:
                results = tf.cond(tf.cast(chosen_by, tf.bool), *branches)
            else:
                results = tf.switch_case(chosen_by, branches)
        return Rebuilt(results[1:], results[0].op)

    def _loop(self) -> Rebuilt:
        condition, body = bodies(self.region, self.op)
        handed_in = arguments(self.op)
        # What a loop only hands on is captured, not carried: XLA may then take it for a constant.
        changing = [
            place
            for place, out in enumerate(body.outputs)
            if not body_passes_on(body, place) and not is_resource(out)
        ]

        def inside(
            number: int, part: Region, rounds: Tensor, variables: Sequence[Tensor]
        ) -> TensorMap:
            images = _images_of_inputs(part, handed_in, self.image, skip=frozenset(changing))
            images.rounds = rounds
            images.changing = frozenset(part.inputs[place] for place in changing)
            for place, tensor in zip(changing, variables):
                images.tensors[part.inputs[place]] = tensor
            self.build_body(number, part, images, handed_in)
            return images

        def goes_on(_: Tensor, rounds: Tensor, *variables: Tensor) -> Tensor:
            images = inside(0, condition, rounds, variables)
            result = _image_of_result(condition, condition.outputs[0], images)
            with tf.control_dependencies(images.effects):
                return tf.identity(result)

        def iteration(_: Tensor, rounds: Tensor, *variables: Tensor) -> list[Tensor]:
            images = inside(1, body, rounds, variables)
            outputs = [_image_of_result(body, body.outputs[place], images) for place in changing]
            token = token_after(images.effects)
            return [token, rounds + 1, *(tf.identity(tensor) for tensor in outputs)]

        at_first = [tf.constant(True), tf.constant(0, tf.int64)]
        # The first is a token, by which a round waits for the effects of the one before.
        start = [*at_first, *(self.image(handed_in[place].name, False) for place in changing)]
        with tf.control_dependencies(self.waits_for):
            start = [tf.identity(tensor) for tensor in start]
            # TensorFlow runs the rounds of a loop on a TPU one after the other.
            results = tf.while_loop(
                goes_on,
                iteration,
                start,
                shape_invariants=[tf.TensorShape(None)] * len(start),
                parallel_iterations=1,
            )
        changed = dict(zip(changing, results[2:]))
        outputs = [
            changed[place] if place in changed else self.image(tensor.name, False)
            for place, tensor in enumerate(handed_in)
        ]
        return Rebuilt(outputs, results[0].op, rounds=results[1])


def _images_of_inputs(
    body: Region, handed_in: Sequence[Tensor], image: Image, skip: frozenset[int] = frozenset()
) -> TensorMap:
    """Return the images of `body`'s inputs: the images of its arguments.

    A handle is captured where it is used: where TensorFlow's executors share a loop, one that has
    nothing but an unused handle on its device would stop the others after the first round.
    """
    images = TensorMap({})
    for place, (name, tensor) in enumerate(zip(body.inputs, handed_in)):
        if place in skip:
            continue
        if is_resource(tensor):
            images.tensors[name] = image(tensor.name, True, captured=False)
            images.device_tensors[name] = image(tensor.name, False, captured=False)
        else:
            images.tensors[name] = image(tensor.name, True)
    return images


def _image_of_result(body: Region, tensor: Tensor, images: TensorMap) -> Tensor:
    return constant_or_image(body, tensor.name, images, on_host=False)
