"""Builds the program of one replica, out of its pieces, in the graph that is being built.

A device segment becomes a call of a function that XLA compiles; host clusters stand as plain
operations between the segments; a conditional or a loop that holds both is built anew around them.
So a whole step runs inside TensorFlow's own executor, without Python between the pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tensorflow as tf

from tpulint.runtime import tensorflow_internals
from tpulint.runtime.execute.copying import copy, inputs_of
from tpulint.runtime.execute.places import Places, in_this_graph
from tpulint.runtime.extract.pieces import Piece, Side
from tpulint.runtime.extract.plan import Plan
from tpulint.runtime.extract.region import Operation, Tensor

_FREE = frozenset({"Identity", "Const", "NoOp"})


@dataclass(frozen=True, eq=False)
class Composer:
    """Builds plans; one composer a replica's program."""

    def build(self, plan: Plan, places: Places) -> None:
        """Build all pieces of `plan`; `places` learns where everything stands."""
        for piece in plan.pieces:
            if piece.side is Side.DEVICE and any(op.type not in _FREE for op in piece.ops):
                _build_segment(plan, piece, places)
            else:
                _build_plain(plan, piece, places)


def _waits_for(plan: Plan, op: Operation, own: frozenset[str], places: Places) -> list[Operation]:
    """What `op` waits for outside its piece, apart from its inputs."""
    data = {tensor.op.name for tensor in op.inputs}
    earlier = plan.before[op.name] - own - data
    return [places.operations[name] for name in sorted(earlier)]


def _build_plain(plan: Plan, piece: Piece, places: Places) -> None:
    on_host = piece.side is Side.HOST
    copied = copy(
        plan.region,
        piece.ops,
        lambda name: in_this_graph(places.of(name, on_host=on_host)),
        plan.before,
        on_device=not on_host,
    )
    own = frozenset(copied.operations)
    for op in piece.ops:
        waits_for = _waits_for(plan, op, own, places)
        if waits_for:
            tensorflow_internals.add_control_inputs(copied.operations[op.name], waits_for)
    places.tensors.update(copied.tensors)
    places.operations.update(copied.operations)


def _build_segment(plan: Plan, piece: Piece, places: Places) -> None:
    own = frozenset(op.name for op in piece.ops)
    given = inputs_of(piece.ops)
    wanted = [
        tensor for op in piece.ops for tensor in op.outputs if plan.region.leaves(tensor, own)
    ]

    def segment(*arguments: Tensor) -> list[Tensor]:
        inside = dict(zip(given, arguments))
        for tensor, argument in zip(given.values(), arguments):
            argument.set_shape(tensor.shape)
        copied = copy(plan.region, piece.ops, inside.__getitem__, plan.before, on_device=True)
        return [copied.tensors[tensor.name] for tensor in wanted] or [tf.constant(True)]

    compiled = tf.function(
        segment,
        jit_compile=True,
        autograph=False,
        input_signature=[tf.TensorSpec(None, tensor.dtype) for tensor in given.values()],
    ).get_concrete_function()
    waits_for = {
        other.name: other for op in piece.ops for other in _waits_for(plan, op, own, places)
    }
    results = _called(
        compiled,
        [in_this_graph(places.of(name, on_host=False)) for name in given],
        list(waits_for.values()),
    )
    places.operations.update(dict.fromkeys(own, results[0].op))
    for tensor, result in zip(wanted, results):
        result.set_shape(tensor.shape)
        places.tensors[tensor.name] = result


def _called(
    function: tf.types.experimental.ConcreteFunction,
    arguments: Sequence[Tensor],
    waits_for: Sequence[Operation],
) -> list[Tensor]:
    with tf.control_dependencies(waits_for):
        results: list[Tensor] = function(*arguments)
    return results
