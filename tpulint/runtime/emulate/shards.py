"""Host functions that run once for each shard of a tensor that is split over a replica's cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime import hardware, outside
from tpulint.runtime.emulate import cores


def experimental_map_outside_compilation(
    computation: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Run `outside_compilation` once for each shard of an input that is split over cores.

    A replica is on one core here, so its tensors are whole: each shard is cut out and given to a
    host cluster of its own, and their results are joined as the first split argument was cut.
    """
    mapped = outside.experimental_map_outside_compilation
    if hardware.real_tpu():
        return mapped(computation, *args, **kwargs)
    tiles = [cores.tiles_of(arg) for arg in args]
    split = next((counts for counts in tiles if counts), None)
    if split is None:
        return mapped(computation, *args, **kwargs)
    shards = [_cut(arg, counts) if counts else None for arg, counts in zip(args, tiles)]
    number = max(len(cut) for cut in shards if cut is not None)
    results = []
    for index in range(number):
        given = [arg if cut is None else cut[index] for arg, cut in zip(args, shards)]
        results.append(mapped(computation, *given, **kwargs))
    return tf.nest.map_structure(lambda *shards: cores.joined(shards, split), *results)


def _cut(tensor: Any, counts: Sequence[int]) -> list[Any]:
    """Return the shards of `tensor`, `counts` along its axes, the last axis fastest."""
    shards = [tensor]
    for axis, count in enumerate(counts):
        shards = [part for shard in shards for part in tf.split(shard, count, axis=axis)]
    return shards
