"""A device segment as a function that XLA compiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from tpulint.runtime.execute.bounded import cut_to_shapes, with_shapes
from tpulint.runtime.execute.compile_errors import remember_segment, segment_name
from tpulint.runtime.execute.tensor_map import TensorMap, constant_or_image, scope_of
from tpulint.runtime.extract.constants import (
    ConstantScope,
    SliceBound,
    device_constant,
    find_slice_bounds,
    recompute,
    shaped_tensors,
)
from tpulint.runtime.extract.copying import Copied, copy_operations, inputs_of
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.extract.segments import Segment
from tpulint.runtime.schedule.plan import Plan
from tpulint.runtime.tensorflow_internals import operations


class DeviceProgram:
    """The function of `segment`, whose results are the images of `wanted`."""

    def __init__(
        self, planned: Plan, segment: Segment, wanted: Sequence[Tensor], images: TensorMap
    ) -> None:
        self._planned, self._ops, self._wanted = planned, segment.ops, wanted
        self._region = planned.region
        scope = scope_of(self._region, images)
        self._inputs = inputs_of(self._ops)
        self._constants = {
            name: value
            for name, tensor in self._inputs.items()
            if (value := device_constant(scope, tensor))
        }
        self._taken = {
            name: constant_or_image(self._region, name, images, on_host=False)
            for name in self._inputs
            if name not in self._constants
        }
        self._shaped = {
            _key(around, tensor): around.image(tensor.name)
            for value in self._constants.values()
            for around, tensor in shaped_tensors(value)
            if around.image is not None
        }
        self._bounds = [
            bound
            for bound in find_slice_bounds(self._region, self._ops)
            if self._is_argument(bound)
        ]
        self._fixed = {
            name: self._taken[name]
            for bound in self._bounds
            for name in bound.sources
            if name in self._taken
        }
        # XLA takes variables last, and none twice; a loop returns the handles that it was given.
        given = sorted(
            (*self._taken.values(), *self._shaped.values()),
            key=lambda image: bool(image.dtype == tf.resource),
        )
        self._arguments = {image.name: image for image in given}
        self._to_cut: list[int] = []
        self._operations: dict[str, Operation] = {}
        self._function = self._traced()
        remember_segment(self._function, self._operations)

    def launch(self) -> tuple[list[Tensor], Operation]:
        """Return the results of a call of the function here, and the call."""
        results = operations.launched_by_xla(
            self._function,
            list(self._fixed.values()),
            list(self._arguments.values()),
            segment_name(self._function),
        )
        return cut_to_shapes(results, self._to_cut), results[0].op

    def _is_argument(self, bound: SliceBound) -> bool:
        """Return whether `bound` depends on an argument."""
        return any(name in self._taken for name in bound.sources)

    def _traced(self) -> Callable[..., Tensor]:
        def tpu_device_segment(*parameters: Tensor) -> list[Tensor]:
            fixed = dict(zip(self._fixed, parameters))
            inside = dict(zip(self._arguments, parameters[len(fixed) :], strict=True))
            return self._results(fixed, inside)

        given = (*self._fixed.values(), *self._arguments.values())
        return tf.function(  # type: ignore[no-any-return]
            tpu_device_segment,
            jit_compile=True,
            autograph=False,
            input_signature=[tf.TensorSpec(None, image.dtype) for image in given],
        ).get_concrete_function()

    def _results(self, fixed: dict[str, Tensor], inside: dict[str, Tensor]) -> list[Tensor]:
        """Build the segment; `fixed` has what bounds depend on, `inside` the arguments."""

        def shaped(scope: ConstantScope, tensor: Tensor) -> Tensor:
            return inside[self._shaped[_key(scope, tensor)].name]

        images = {name: recompute(value, shaped) for name, value in self._constants.items()}
        for name, image in self._taken.items():
            images[name] = inside[image.name]
            for tensor in (images[name], *([fixed[name]] if name in fixed else [])):
                tensor.set_shape(self._inputs[name].shape)
        copied = self._copied(self._ops, images)
        self._operations.update({copied.operations[op.name].name: op for op in self._ops})
        self._fix_bounds({**images, **copied.tensors, **fixed}, copied)
        results, self._to_cut[:] = with_shapes([copied.tensors[out.name] for out in self._wanted])
        return results or [tf.constant(True)]

    def _fix_bounds(self, images: dict[str, Tensor], copied: Copied) -> None:
        for bound in self._bounds:
            computed = self._copied(list(bound.ops.values()), images).tensors
            tensor = {**images, **computed}[bound.tensor.name]
            image = copied.operations[bound.op.name]
            operations.update_input(image, bound.index, tensor)

    def _copied(self, ops: Sequence[Operation], images: dict[str, Tensor]) -> Copied:
        return copy_operations(
            self._region, ops, images.__getitem__, self._planned.before, on_device=True
        )


def _key(scope: ConstantScope, tensor: Tensor) -> tuple[int, str]:
    return id(scope.region), tensor.name
