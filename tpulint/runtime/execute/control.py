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
from types import MappingProxyType

import tensorflow as tf

from tpulint.runtime.execute import exchanges
from tpulint.runtime.execute.exchanges import RendezvousReports
from tpulint.runtime.execute.tensor_map import (
    TensorMap,
    constant_or_image,
    in_this_graph,
    scope_of,
    token_after,
)
from tpulint.runtime.extract.bodies import CASE, IF, WHILE, arguments, bodies, is_resource
from tpulint.runtime.extract.constants import body_passes_on, constant_arguments
from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.schedule.schedule import Plan

_queue_numbers = itertools.count()


class DeferredCluster:
    """The operations of a body in `planned`, and a record of each time that they are reached."""

    def __init__(self, planned: Plan, images: TensorMap) -> None:
        inputs = frozenset(planned.region.inputs)
        tensors = (tensor for op in planned.region.ops for tensor in op.inputs)
        taken = {tensor.name: tensor for tensor in tensors if tensor.name in inputs}
        self._planned = planned
        self._values = [tensor for tensor in taken.values() if not is_resource(tensor)]
        self._dtypes = [tf.bool, *(tensor.dtype.base_dtype for tensor in self._values)]
        self._handles = {
            name: images.handles[name] for name, tensor in taken.items() if is_resource(tensor)
        }
        """The names of its handles in the computation."""
        self._queue_name = f"tpulint_deferred_{next(_queue_numbers)}"

    def put(self, images: TensorMap) -> Operation:
        """Note, in the body, that its operations have been reached."""
        values = [
            constant_or_image(self._planned.region, tensor.name, images, on_host=True)
            for tensor in self._values
        ]
        return exchanges.enqueue(self._queue(), [tf.constant(True), *values])

    def clear(self) -> Operation:
        """Empty the queue of entries that a failed step may have left."""
        return exchanges.empty(self._queue(), self._dtypes).op

    def run(
        self,
        around: TensorMap,
        waits_for: Sequence[Operation],
        build: Callable[[Plan, TensorMap], None],
    ) -> Operation:
        """Run the operations once for each time that they were reached."""

        def once(values: Sequence[Tensor]) -> list[Operation]:
            images = TensorMap(
                {inner: around.tensors[outer] for inner, outer in self._handles.items()},
                entry=(values[0].op,),
                replica=around.replica,
            )
            for tensor, value in zip(self._values, values[1:], strict=True):
                value.set_shape(tensor.shape)
                images.tensors[tensor.name] = value
            build(self._planned, images)
            return images.effects

        with tf.control_dependencies(waits_for):
            return exchanges.for_each_tuple(self._queue(), self._dtypes, once).op

    def _queue(self) -> Tensor:
        return exchanges.make_queue(self._dtypes, self._queue_name)


@dataclass(frozen=True, eq=False)
class Rebuilder:
    """A rebuilder of `op`, a conditional, loop or call of `planned`, which waits for `waits_for`.

    `build` builds a body in the graph that is being built.
    """

    planned: Plan
    op: Operation
    images: TensorMap
    waits_for: Sequence[Operation]
    build: Callable[[Plan, TensorMap], None]
    rendezvous: RendezvousReports

    def rebuild(self) -> tuple[list[Tensor], Operation]:
        """Rebuild the operation; return its results, and what runs when all in it has run."""
        if self.op.type in WHILE:
            return self._loop()
        if self.op.type in IF | CASE:
            return self._conditional()
        return self._call()

    def _call(self) -> tuple[list[Tensor], Operation]:
        (body,) = bodies(self.planned.region, self.op)
        inside = self._build_body(0, body, entry=tuple(self.waits_for))
        with tf.control_dependencies([*self.waits_for, *inside.effects]):
            done = tf.no_op()
        return [_image_of_result(body, out, inside) for out in body.outputs], done

    def _conditional(self) -> tuple[list[Tensor], Operation]:
        def branch(number: int, body: Region) -> list[Tensor]:
            inside = self._build_body(number, body)
            outputs = [_image_of_result(body, out, inside) for out in body.outputs]
            return [token_after(inside.effects), *map(tf.identity, outputs)]

        chosen_by = self._image(self.op.inputs[0], on_host=False)
        numbered = enumerate(bodies(self.planned.region, self.op))
        branches = [partial(branch, number, body) for number, body in numbered]
        with tf.control_dependencies(self.waits_for):
            if self.op.type in IF:
                token, *results = tf.cond(tf.cast(chosen_by, tf.bool), *branches)
            else:
                token, *results = tf.switch_case(chosen_by, branches)
        return results, token.op

    def _loop(self) -> tuple[list[Tensor], Operation]:
        condition, body = bodies(self.planned.region, self.op)
        # What a loop only hands on is captured, not carried: XLA may then take it for a constant.
        changing = [
            place
            for place, out in enumerate(body.outputs)
            if not body_passes_on(body, place) and not is_resource(out)
        ]

        def goes_on(_: Tensor, rounds: Tensor, *variables: Tensor) -> Tensor:
            inside = self._build_body(0, condition, rounds, dict(zip(changing, variables)))
            result = _image_of_result(condition, condition.outputs[0], inside)
            with tf.control_dependencies(inside.effects):
                return tf.identity(result)

        def iteration(_: Tensor, rounds: Tensor, *variables: Tensor) -> list[Tensor]:
            inside = self._build_body(1, body, rounds, dict(zip(changing, variables)))
            outputs = [_image_of_result(body, body.outputs[place], inside) for place in changing]
            return [token_after(inside.effects), rounds + 1, *map(tf.identity, outputs)]

        handed_in = [self._image(tensor, on_host=False) for tensor in arguments(self.op)]
        # The first is a token, by which a round waits for the effects of the one before.
        start = [tf.constant(True), tf.constant(0, tf.int64)]
        start += [handed_in[place] for place in changing]
        with tf.control_dependencies(self.waits_for):
            start = [tf.identity(tensor) for tensor in start]
            # TensorFlow runs the rounds of a loop on a TPU one after the other.
            token, rounds, *results = tf.while_loop(
                goes_on,
                iteration,
                start,
                shape_invariants=[tf.TensorShape(None)] * len(start),
                parallel_iterations=1,
            )
        # A loop has decided when it ends; a branch when it begins.
        self.images.effects += self.rendezvous.report_decision(
            self._site, self.images, rounds, [token.op]
        )
        changed = dict(zip(changing, results))
        outputs = [changed.get(place, image) for place, image in enumerate(handed_in)]
        return outputs, token.op

    @property
    def _site(self) -> tuple[str | int, ...]:
        return (*self.images.site, self.op.name)

    def _image(self, tensor: Tensor, *, on_host: bool, captured: bool = True) -> Tensor:
        region = self.planned.region
        return constant_or_image(
            region, tensor.name, self.images, on_host=on_host, captured=captured
        )

    def _build_body(
        self,
        number: int,
        body: Region,
        rounds: Tensor = None,
        changing: Mapping[int, Tensor] = MappingProxyType({}),
        entry: tuple[Operation, ...] = (),
    ) -> TensorMap:
        """Build `body` in the graph that is being built, and return its images.

        That of a loop has made `rounds`, and `changing` are the inputs that change in each.
        """
        around, handed_in = self.images, arguments(self.op)
        # Each body is a graph of its own, which captures what is the same in every round.
        iteration = in_this_graph(around.iteration)
        if rounds is not None:
            iteration = tf.concat([iteration, rounds[tf.newaxis]], 0)
        scope = scope_of(self.planned.region, around)
        constants = constant_arguments(scope, body.inputs, handed_in)
        for place in changing:
            constants.pop(body.inputs[place], None)
        inside = TensorMap(
            {},
            entry=entry,
            replica=around.replica,
            site=(*self._site, number),
            iteration=iteration,
            queues=around.queues,
            feeds=around.feeds,
            handles={
                name: around.handles[tensor.name]
                for name, tensor in zip(body.inputs, handed_in, strict=True)
                if tensor.name in around.handles
            },
            constants=constants,
        )
        self._add_inputs(inside, body, changing)
        if rounds is None:
            inside.effects += self.rendezvous.report_decision(
                self._site, around, tf.constant(number)
            )
        self.build(self.planned.nested[self.op.name][number], inside)
        return inside

    def _add_inputs(self, inside: TensorMap, body: Region, changing: Mapping[int, Tensor]) -> None:
        """Add the images of `body`'s inputs to those `inside`: what changes, or its arguments'.

        A handle is captured where it is used: where TensorFlow's executors share a loop, one that
        has nothing but an unused handle on its device would stop the others after the first round.
        """
        for place, (name, tensor) in enumerate(zip(body.inputs, arguments(self.op))):
            if place in changing:
                inside.tensors[name] = changing[place]
            elif is_resource(tensor):
                inside.tensors[name] = self._image(tensor, on_host=True, captured=False)
                inside.device_tensors[name] = self._image(tensor, on_host=False, captured=False)
            else:
                inside.tensors[name] = self._image(tensor, on_host=True)


def _image_of_result(body: Region, tensor: Tensor, images: TensorMap) -> Tensor:
    return constant_or_image(body, tensor.name, images, on_host=False)
