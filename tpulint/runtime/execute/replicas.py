"""Runs a part of the program in every replica: one trace, called once for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tensorflow as tf

from tpulint.runtime.execute.compose import Composer
from tpulint.runtime.execute.places import Places, Seat, constant_or_image, token_after
from tpulint.runtime.extract.region import Key, Operation, Region, Tensor


@dataclass(frozen=True, eq=False)
class Replicas:
    """`places` has, for each replica, where its tensors stand."""

    composer: Composer
    places: tuple[Places, ...]

    def run(self, region: Region, waits_for: Sequence[Operation]) -> list[Operation]:
        """Run `region` in all replicas. One operation each, which runs when all of it has run."""
        if not region.ops:
            return []
        if len(self.places) == 1:
            return [self._in_place(region, waits_for)]
        return self._called(region, waits_for)

    def _in_place(self, region: Region, waits_for: Sequence[Operation]) -> Operation:
        (places,) = self.places
        places.entry = tuple(waits_for)
        self.composer.build(region, places)
        with tf.control_dependencies([*waits_for, *places.effects]):
            return tf.no_op()

    def _called(self, region: Region, waits_for: Sequence[Operation]) -> list[Operation]:
        example = self.places[0]
        copied = [name for name in region.inputs if name in example.device_tensors]

        def program(replica: Tensor, *arguments: Tensor) -> list[Tensor]:
            replica.set_shape([])
            inside = Places(
                dict(zip(region.inputs, arguments)),
                dict(zip(copied, arguments[len(region.inputs) :])),
                replica=replica,
                handles=example.handles,
                seats=_seats(example.seats, arguments[len(region.inputs) + len(copied) :]),
                feeds=dict(zip(example.feeds, arguments[len(arguments) - len(example.feeds) :])),
            )
            self.composer.build(region, inside)
            ended = self.composer.meetings.ends(replica, inside.effects)
            token = token_after([*inside.effects, *ended])
            outputs = [
                constant_or_image(region, tensor.name, inside, on_host=False)
                for tensor in region.outputs
            ]
            return [token, *outputs]

        given = [
            [
                places.replica,
                *_arguments(places, region.inputs, copied),
                *_seat_tensors(places),
                *places.feeds.values(),
            ]
            for places in self.places
        ]
        function = tf.compat.v1.wrap_function(
            program, [tf.TensorSpec(None, tensor.dtype) for tensor in given[0]]
        )
        done = []
        for places, arguments in zip(self.places, given):
            with tf.control_dependencies(waits_for):
                token, *outputs = function(*arguments)
            for tensor, output in zip(region.outputs, outputs):
                places.tensors[tensor.name] = output
            done.append(token.op)
        return done


def _arguments(places: Places, names: Sequence[str], copied: Sequence[str]) -> list[Tensor]:
    return [places.tensors[name] for name in names] + [
        places.device_tensors[name] for name in copied
    ]


def _seat_tensors(places: Places) -> list[Tensor]:
    return [tensor for seat in places.seats.values() for tensor in seat.tensors()]


def _seats(like: Mapping[Key, Seat], tensors: Sequence[Tensor]) -> dict[Key, Seat]:
    one_by_one = iter(tensors)
    return {key: Seat(*(next(one_by_one) for _ in seat.tensors())) for key, seat in like.items()}
