"""Several cores a replica: they are one here, whose variables are copied to the others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.modules import (
    save_context,
    tpu_replicated_variable,
    tpu_util,
    xla_data_pb2,
    xla_sharding,
)
from tpulint.runtime.tensorflow_internals.patching import patched

_touched: list[dict[int, Any]] = []


@contextlib.contextmanager
def first_copies_taken() -> Iterator[None]:
    """Let computations in the context take the first of a variable's copies on several cores."""
    kind = tpu_replicated_variable.TPUReplicatedVariable
    real = kind.handle

    def handle(self: Any) -> Any:
        is_whole = save_context.in_save_context() or tf.executing_eagerly()
        if is_whole or tpu_util.enclosing_tpu_context() is None or not _touched:
            return real.fget(self)
        _touched[-1][id(self)] = self
        with tpu_util.outside_or_skip_tpu_context():
            return self._vars[0].handle

    target = "tensorflow.python.distribute.tpu_replicated_variable.TPUReplicatedVariable.handle"
    with patched(target, property(handle)):
        yield


@contextlib.contextmanager
def copies_assigned() -> Iterator[None]:
    """Make all copies equal after a computation in a function, which is built in the context."""
    touched: dict[int, Any] = {}
    _touched.append(touched)
    try:
        yield
    finally:
        _touched.remove(touched)
    for variable in touched.values():
        first, *others = variable._vars
        for other in others:
            other.assign(first.read_value(), read_value=False)


def tiles_of(value: Any) -> list[int] | None:
    """Return the number of shards of `value` along each axis, or None if it is not split."""
    if not isinstance(value, tf.Tensor):
        return None
    sharding = xla_sharding.get_tensor_sharding(value)
    tiles = xla_sharding.get_sharding_tile_shape(sharding)
    return list(tiles) if tiles and max(tiles) > 1 else None


@dataclass(frozen=True)
class Parts:
    """The logical cores that get a part of a tensor, and the number of parts along each axis.

    Without `counts`, each of the cores gets all of it.
    """

    cores: tuple[int, ...]
    counts: tuple[int, ...] = ()


def parts_of_outputs(op: Any, num_cores: int) -> list[Parts] | None:
    """Return the parts of the outputs of `op` on the cores, or None if it has no sharding."""
    try:
        sharding = xla_data_pb2.OpSharding.FromString(op.get_attr("_XlaSharding"))
    except ValueError:
        return None
    if sharding.type != xla_data_pb2.OpSharding.TUPLE:
        return None
    return [_parts_of(one, num_cores) for one in sharding.tuple_shardings]


def _parts_of(sharding: Any, num_cores: int) -> Parts:
    if sharding.type == xla_data_pb2.OpSharding.REPLICATED:
        return Parts(tuple(range(num_cores)))
    cores = tuple(sharding.tile_assignment_devices)
    if sharding.type == xla_data_pb2.OpSharding.MAXIMAL:
        return Parts(cores)
    return Parts(cores, tuple(sharding.tile_assignment_dimensions))


def joined(shards: Sequence[Any], counts: Sequence[int]) -> Any:
    """Return the tensor that consists of `shards`, `counts` along its axes, the last fastest."""
    left = list(shards)
    for axis, count in reversed(list(enumerate(counts))):
        left = [tf.concat(left[i : i + count], axis) for i in range(0, len(left), count)]
    return left[0]


@contextlib.contextmanager
def manual_sharding_refused() -> Iterator[None]:
    """Refuse a switch to programs for single shards in the context: there is one core."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            "the emulated TPU runs a replica on one core, and cannot switch to manual partitioning"
        )

    with (
        patched("tensorflow.compiler.tf2xla.python.xla.spmd_full_to_shard_shape", refuse),
        patched("tensorflow.compiler.tf2xla.python.xla.spmd_shard_to_full_shape", refuse),
    ):
        yield
