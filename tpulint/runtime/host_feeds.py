"""The host's ends of infeed and outfeed, as TensorFlow's functions make them outside computations.

`InfeedQueue.generate_enqueue_ops` and its kin end here, so that the replicas on this CPU get the
tuples that they enqueue. Inside a computation, and with a real TPU, they are unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from tpulint.runtime import hardware
from tpulint.runtime import tensorflow_internals as tfi
from tpulint.runtime.execute.feed_queues import put, queue, take
from tpulint.runtime.execute.host_takes import HostTake
from tpulint.runtime.extract.feeds import core_number
from tpulint.runtime.mark.context import enclosing_context
from tpulint.runtime.schedule.wait_graph import Wait
from tpulint.runtime.source_location import users_place
from tpulint.runtime.stepping import current_options

Tensor = Any


def infeed_enqueue_tuple(
    inputs: Sequence[Any],
    shapes: Sequence[Any],
    layouts: Any = (),
    device_ordinal: int = -1,
    name: str | None = None,
) -> Any:
    """Enqueue a tuple for the core `device_ordinal` of the host of the current device scope.

    Raises:
        ValueError: a tensor has another shape than declared.
    """
    core = _core(device_ordinal)
    with _on_this_host(name):
        values = [
            tf.ensure_shape(tf.convert_to_tensor(value), shape)
            for value, shape in zip(inputs, shapes, strict=True)
        ]
        here = queue("infeed", core)
        done = put(here, values)
        if done is not None:
            tfi.runs_independently(here.op)
            tfi.runs_independently(done)
        return done


def infeed_enqueue(
    input: Any,
    shape: Any = (),
    layout: Any = (),
    device_ordinal: int = -1,
    name: str | None = None,
) -> Any:
    """Enqueue one tensor, as `infeed_enqueue_tuple` does a tuple."""
    return infeed_enqueue_tuple([input], [shape], layout, device_ordinal, name)


def outfeed_dequeue_tuple(
    dtypes: Sequence[Any],
    shapes: Sequence[Any],
    device_ordinal: int = -1,
    name: str | None = None,
) -> list[Tensor]:
    """Take the next tuple that the core `device_ordinal` puts into its outfeed."""
    core = _core(device_ordinal)
    wait = Wait(
        "host",
        f"the outfeed of core {core}",
        f"waits for the outfeed of core {core}, which no device program fills",
        users_place(),
    )
    host_take = HostTake(wait, current_options().deadline)
    with _on_this_host(name):
        return take(queue("outfeed", core), dtypes, shapes, host_take.take)


def outfeed_dequeue(
    dtype: Any, shape: Any, device_ordinal: int = -1, name: str | None = None
) -> Tensor:
    """Take one tensor, as `outfeed_dequeue_tuple` does a tuple."""
    return outfeed_dequeue_tuple([dtype], [shape], device_ordinal, name)[0]


def _core(ordinal: int) -> int:
    """Return the core of an ordinal; -1 is that of the device scope, where TensorFlow places it."""
    device = tfi.device_here()
    if ordinal < 0:
        ordinal = (device.device_index or 0) if device.device_type == "TPU" else 0
    return core_number(device.task or 0, ordinal)


def _on_this_host(name: str | None) -> Any:
    return tfi.beside_devices(name or "feed")


def feeds_of_this_host() -> AbstractContextManager[None]:
    """Return a context in which TensorFlow's functions of these names end here."""
    return tfi.feeds_handled_by(
        [infeed_enqueue, infeed_enqueue_tuple, outfeed_dequeue, outfeed_dequeue_tuple],
        unless=lambda: hardware.real_tpu() or enclosing_context() is not None,
    )
