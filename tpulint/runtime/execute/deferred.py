"""Host clusters in loops and branches that run only when the device program has ended.

They wait for a variable that it holds, and nothing on the device waits for them. Each time one is
reached, its inputs go into a queue; when the variable is free again, it runs once for each entry.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.execute.tensor_map import TensorMap, constant_or_image, no_iteration
from tpulint.runtime.extract.bodies import is_resource
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.schedule.plan import Plan

_names = itertools.count()


@dataclass(frozen=True, eq=False)
class Deferred:
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

    def forgotten(self) -> Operation:
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
                iteration=no_iteration(),
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


def deferred(planned: Plan, images: TensorMap) -> Deferred:
    """Return a record of each time that `planned` is reached, with `images` around it."""
    region = planned.region
    taken = {
        tensor.name: tensor
        for op in region.ops
        for tensor in op.inputs
        if tensor.name in region.inputs
    }
    return Deferred(
        planned,
        tuple(tensor for tensor in taken.values() if not is_resource(tensor)),
        {name: images.handles[name] for name, tensor in taken.items() if is_resource(tensor)},
        f"tpulint_deferred_{next(_names)}",
    )
