"""Run a part of the program in every replica: one trace, called once for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tensorflow as tf

from tpulint.runtime.execute.compose import Composer
from tpulint.runtime.execute.tensor_map import (
    TensorMap,
    constant_or_image,
    no_iteration,
    token_after,
)
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.pods import devices
from tpulint.runtime.schedule.plan import Plan
from tpulint.runtime.tensorflow_internals import functions


@dataclass(frozen=True, eq=False)
class Replicas:
    """The replicas of a step: the images of each one's tensors, and its first core."""

    composer: Composer
    images: tuple[TensorMap, ...]
    cores: tuple[int, ...]

    def run(self, planned: Plan, waits_for: Sequence[Operation]) -> list[Operation]:
        """Run `planned` in all replicas; return for each an operation that runs last."""
        if not planned.region.ops:
            return []
        if len(self.images) == 1:
            return [self._in_place(planned, waits_for)]
        return self._called(planned, waits_for)

    def _in_place(self, planned: Plan, waits_for: Sequence[Operation]) -> Operation:
        (images,) = self.images
        images.entry = tuple(waits_for)
        with devices.on_host_of_core(self.cores[0]):
            self.composer.build(planned, images)
        with tf.control_dependencies([*waits_for, *images.effects]):
            return tf.no_op()

    def _called(self, planned: Plan, waits_for: Sequence[Operation]) -> list[Operation]:
        region = planned.region
        example = self.images[0]
        copied = [name for name in region.inputs if name in example.device_tensors]

        def program(replica: Tensor, *arguments: Tensor) -> list[Tensor]:
            replica.set_shape([])
            rest = iter(arguments)
            inside = TensorMap(
                {name: next(rest) for name in region.inputs},
                {name: next(rest) for name in copied},
                replica=replica,
                handles=example.handles,
                constants=example.constants,
                iteration=no_iteration(),
                queues=next(rest) if example.queues is not None else None,
                feeds=dict(zip(example.feeds, rest, strict=True)),
            )
            self.composer.build(planned, inside)
            token = token_after(inside.effects)
            outputs = [
                constant_or_image(region, tensor.name, inside, on_host=False)
                for tensor in region.outputs
            ]
            return [token, *outputs]

        given = [
            [
                images.replica,
                *_arguments(images, region.inputs, copied),
                *([] if images.queues is None else [images.queues]),
                *images.feeds.values(),
            ]
            for images in self.images
        ]
        function = functions.wrapped(program, [tensor.dtype for tensor in given[0]])
        done = []
        for core, images, arguments in zip(self.cores, self.images, given, strict=True):
            with tf.control_dependencies(waits_for), devices.on_host_of_core(core):
                token, *outputs = function(*arguments)
            devices.inline_call(token.op)
            for tensor, output in zip(region.outputs, outputs):
                images.tensors[tensor.name] = output
            done.append(token.op)
        return done


def _arguments(images: TensorMap, names: Sequence[str], copied: Sequence[str]) -> list[Tensor]:
    return [images.tensors[name] for name in names] + [
        images.device_tensors[name] for name in copied
    ]
