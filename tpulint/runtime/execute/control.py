"""Conditionals, loops and calls that hold both sides, rebuilt around their segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import tensorflow as tf

from tpulint.runtime.execute.tensor_map import TensorMap, constant_or_image, token_after
from tpulint.runtime.extract.bodies import CASE, IF, WHILE, arguments, bodies, is_resource
from tpulint.runtime.extract.constants import body_passes_on
from tpulint.runtime.extract.region import Operation, Region, Tensor

Build = Callable[[int, Region, TensorMap, Sequence[Tensor]], None]
"""(number, body, images, given): builds that body of an operation, with the arguments `given`."""


@dataclass(frozen=True, eq=False)
class Built:
    """The images of an operation's outputs, and an operation that runs when all in it has run."""

    outputs: Sequence[Tensor]
    done: Operation
    rounds: Tensor = None
    """The number of rounds that a loop has made."""


class Image(Protocol):
    """The images of the tensors of the region around; without `captured`, of any graph around."""

    def __call__(self, name: str, on_host: bool, captured: bool = True) -> Tensor: ...


class _Builder(Protocol):
    def __call__(
        self,
        region: Region,
        op: Operation,
        image: Image,
        waits_for: Sequence[Operation],
        build: Build,
    ) -> Built: ...


def build(
    region: Region, op: Operation, image: Image, waits_for: Sequence[Operation], build: Build
) -> Built:
    """Rebuild `op` of `region`; `build` builds the regions in it."""
    builder: _Builder = _call
    if op.type in WHILE:
        builder = _loop
    elif op.type in IF | CASE:
        builder = _conditional
    return builder(region, op, image, waits_for, build)


def _call(
    region: Region, op: Operation, image: Image, waits_for: Sequence[Operation], build: Build
) -> Built:
    (body,) = bodies(region, op)
    images = _enclosed(body, arguments(op), image)
    images.entry = tuple(waits_for)
    build(0, body, images, arguments(op))
    with tf.control_dependencies([*waits_for, *images.effects]):
        done = tf.no_op()
    return Built([_result(body, out, images) for out in body.outputs], done)


def _conditional(
    region: Region, op: Operation, image: Image, waits_for: Sequence[Operation], build: Build
) -> Built:
    given = arguments(op)

    def branch(number: int, body: Region) -> list[Tensor]:
        images = _enclosed(body, given, image)
        build(number, body, images, given)
        outputs = [_result(body, out, images) for out in body.outputs]
        return [token_after(images.effects), *(tf.identity(tensor) for tensor in outputs)]

    chosen_by = image(op.inputs[0].name, False)
    branches = [partial(branch, *numbered) for numbered in enumerate(bodies(region, op))]
    with tf.control_dependencies(waits_for):
        if op.type in IF:
            results = tf.cond(tf.cast(chosen_by, tf.bool), *branches)
        else:
            results = tf.switch_case(chosen_by, branches)
    return Built(results[1:], results[0].op)


def _loop(
    region: Region, op: Operation, image: Image, waits_for: Sequence[Operation], build: Build
) -> Built:
    condition, body = bodies(region, op)
    given = arguments(op)
    changing = [
        place
        for place, out in enumerate(body.outputs)
        if not body_passes_on(body, place) and not is_resource(out)
    ]

    def inside(number: int, part: Region, rounds: Tensor, variables: Sequence[Tensor]) -> TensorMap:
        images = _enclosed(part, given, image, skip=frozenset(changing))
        images.rounds = rounds
        images.changing = frozenset(part.inputs[place] for place in changing)
        for place, tensor in zip(changing, variables):
            images.tensors[part.inputs[place]] = tensor
        build(number, part, images, given)
        return images

    def goes_on(_: Tensor, rounds: Tensor, *variables: Tensor) -> Tensor:
        images = inside(0, condition, rounds, variables)
        result = _result(condition, condition.outputs[0], images)
        with tf.control_dependencies(images.effects):
            return tf.identity(result)

    def iteration(_: Tensor, rounds: Tensor, *variables: Tensor) -> list[Tensor]:
        images = inside(1, body, rounds, variables)
        outputs = [_result(body, body.outputs[place], images) for place in changing]
        token = token_after(images.effects)
        return [token, rounds + 1, *(tf.identity(tensor) for tensor in outputs)]

    at_first = [tf.constant(True), tf.constant(0, tf.int64)]
    start = [*at_first, *(image(given[place].name, False) for place in changing)]
    with tf.control_dependencies(waits_for):
        start = [tf.identity(tensor) for tensor in start]
        results = tf.while_loop(
            goes_on,
            iteration,
            start,
            shape_invariants=[tf.TensorShape(None)] * len(start),
            parallel_iterations=1,
        )
    changed = dict(zip(changing, results[2:]))
    outputs = [
        changed[place] if place in changed else image(tensor.name, False)
        for place, tensor in enumerate(given)
    ]
    return Built(outputs, results[0].op, rounds=results[1])


def _enclosed(
    body: Region, given: Sequence[Tensor], image: Image, skip: frozenset[int] = frozenset()
) -> TensorMap:
    """Return the images of `body`'s inputs: the images of its arguments.

    A handle is captured where it is used: where TensorFlow's executors share a loop, one that has
    nothing but an unused handle on its device would stop the others after the first round.
    """
    images = TensorMap({})
    for place, (name, tensor) in enumerate(zip(body.inputs, given)):
        if place in skip:
            continue
        if is_resource(tensor):
            images.tensors[name] = image(tensor.name, True, captured=False)
            images.device_tensors[name] = image(tensor.name, False, captured=False)
        else:
            images.tensors[name] = image(tensor.name, True)
    return images


def _result(body: Region, tensor: Tensor, images: TensorMap) -> Tensor:
    return constant_or_image(body, tensor.name, images, on_host=False)
