"""The inputs of `replicate`: checked, flattened into tensors, and packed in the computation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import (
    ArityError,
    InputsNotPerReplicaError,
    UnequalInputsError,
    as_fault,
)
from tpulint.runtime.tensorflow_internals import tpu

Tensor = Any


@dataclass(frozen=True, eq=False)
class Inputs:
    """`flat[replica][i]` are tensors; a None input is a constant 0 there.

    `is_none[i]` and `is_composite[i]` describe flat input i in replica 0. `structure` is
    the structure of replica 0's inputs, and `arity` their number before flattening.
    """

    structure: Any
    flat: list[list[Tensor]]
    is_none: list[bool]
    is_composite: list[bool]

    @property
    def arity(self) -> int:
        return len(self.structure)

    def packed(self, tensors: list[Tensor]) -> list[Any]:
        """Return `tensors`, one for each flat input, in the inputs' structure, None restored."""
        given = [None if none else t for none, t in zip(self.is_none, tensors, strict=False)]
        packed: list[Any] = tpu.nest.pack_sequence_as(self.structure, given, expand_composites=True)
        return packed


def check_is_per_replica(inputs: Any) -> None:
    """Raise `InputsNotPerReplicaError` unless `inputs` is a list of lists or tuples."""
    message = "tpu.replicate() inputs must be a list of lists/tuples, received "
    if not isinstance(inputs, list):
        raise InputsNotPerReplicaError(f"{message}{type(inputs)}")
    if any(not isinstance(replica, (list, tuple)) for replica in inputs):
        raise InputsNotPerReplicaError(f"{message}types: {[type(i) for i in inputs]}")


def flattened(inputs: list[Any]) -> Inputs:
    """Return `inputs`, one list a replica, with variables read and composites taken apart.

    Raises:
        UnequalInputsError: structures or dtypes differ between replicas; also a TypeError where
            the types of the structures differ.
    """
    for replica in inputs[1:]:
        try:
            tpu.nest.assert_same_structure(inputs[0], replica)
        except (ValueError, TypeError) as error:
            raise as_fault(UnequalInputsError, error) from None
    inputs = tpu.convert_variables_to_tensors(inputs)
    flat = [tpu.nest.flatten(replica, expand_composites=True) for replica in inputs]
    is_composite = tpu.nest.flatten(
        tpu.nest.map_structure(lambda x: in_place_of_components(x, True, False), inputs[0])
    )
    tensors = [
        [tf.constant(0) if x is None else tf.convert_to_tensor(x) for x in replica]
        for replica in flat
    ]
    _check_equal_types(tensors)
    return Inputs(inputs[0], tensors, [x is None for x in flat[0]], is_composite)


def in_place_of_components(value: Any, for_component: Any, otherwise: Any) -> Any:
    """Return `otherwise`, or for a composite `value` one `for_component` per component."""
    if isinstance(value, tpu.CompositeTensor):
        return (for_component,) * len(tpu.nest.flatten(value, expand_composites=True))
    return otherwise


def _check_equal_types(flat: list[list[Tensor]]) -> None:
    first = [tensor.dtype for tensor in flat[0]]
    for number, replica in enumerate(flat):
        types = [tensor.dtype for tensor in replica]
        if types != first:
            raise UnequalInputsError(
                "Replicas must have matching input types. Replica 0 had "
                f"input types {first}, replica {number} had input types {types}"
            )


def check_arity(computation: Callable[..., Any], inputs: Inputs, infeed_queue: Any) -> None:
    """Raise `ArityError` unless `computation` can take `inputs` and what the queue adds.

    A bound method without defaults never can: TensorFlow counts its `self`.

    Raises:
        AttributeError: as above, and an input has no `name` to be listed by (TensorFlow's
            own message cannot be put together then).
    """
    needs = tpu.check_function_argument_count(computation, inputs.arity, infeed_queue)
    if needs is None:
        return
    message = (
        "Supplied computation cannot be called with the specified inputs. "
        f"You specified {inputs.arity} inputs: {[i.name for i in inputs.structure]}"
    )
    if infeed_queue is None:
        raise ArityError(f"{message}, but the computation needs {needs}")
    # TensorFlow's message is a pair here, by a stray comma; it is kept as it prints.
    pair = (
        f"{message} ",
        f"and {infeed_queue.number_of_tuple_elements} additional inputs "
        f"from infeed, but the computation needs {needs}",
    )
    raise ArityError(str(pair))


def replicated(flat: list[list[Tensor]]) -> list[Tensor]:
    """Return the fan-in: one `TPUReplicatedInput` for each flat input.

    Raises:
        UnequalInputsError: the static shapes of an input cannot be merged over the replicas.
    """
    found = []
    for number, copies in enumerate(zip(*flat, strict=True)):
        try:
            found.append(tpu.tpu_ops.tpu_replicated_input(list(copies), name=f"input{number}"))
        except ValueError as error:
            raise as_fault(UnequalInputsError, error) from None
    return found
