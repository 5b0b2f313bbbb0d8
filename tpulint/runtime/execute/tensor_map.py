"""The images of a marked region's tensors and operations in the graph that is being built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tpulint.runtime.extract.constants import ConstantScope, DeviceConstant
from tpulint.runtime.extract.copying import copy_operations
from tpulint.runtime.extract.region import Operation, Region, RegionSite, Tensor


@dataclass(eq=False)
class TensorMap:
    """Images by the region's own names.

    A variable that the device works on in a copy of its own has two images: `tensors` has the one
    that the host clusters see, `device_tensors` the copy.
    """

    tensors: dict[str, Tensor]
    device_tensors: dict[str, Tensor] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)
    """For each operation one that runs when it has run: its image, or its segment's call."""
    effects: list[Operation] = field(default_factory=list)
    """The operations that must run though no output needs them."""
    entry: tuple[Operation, ...] = ()
    """The operations that everything here waits for."""
    replica: Tensor = None
    """The replica's number."""
    site: RegionSite = ()
    """The region's site in the program."""
    iteration: Tensor = field(default_factory=lambda: tf.constant([], tf.int64))
    """The rounds that the loops around have made before, outermost first."""
    queues: Tensor = None
    """The replica's, to and from the exchanges of the collectives."""
    feeds: Mapping[Any, Tensor] = field(default_factory=dict)
    """The queues of the replica's cores (see feeds)."""
    handles: Mapping[str, str] = field(default_factory=dict)
    """For handles of the region: their names in the whole computation."""
    constants: Mapping[str, DeviceConstant] = field(default_factory=dict)
    """The region's inputs that are constants of the regions around it."""


def in_this_graph(tensor: Tensor) -> Tensor:
    """Return `tensor`, captured if the graph that is being built is nested in its own."""
    graph = tf.compat.v1.get_default_graph()
    return tensor if tensor.graph is graph else graph.capture(tensor)


def token_after(effects: Sequence[Operation]) -> Tensor:
    """Return a token that has a value once `effects`, which always run, have run."""
    with tf.control_dependencies(effects):
        token = tf.identity(tf.constant(True))
    # An executor prunes what leads to no output of its function.
    tf.compat.v1.get_default_graph().control_outputs.append(token.op)
    return token


def constant_or_image(
    region: Region, name: str, images: TensorMap, *, on_host: bool, captured: bool = True
) -> Tensor:
    """Return the image, in the graph that is being built, of the tensor `name`.

    A constant has none: it is copied where it is used. So is an operation that only passes on a
    tensor of another part of the region. Without `captured` the image may be of a graph around.
    """
    if name in images.tensors:
        has_copy = not on_host and name in images.device_tensors
        image = (images.device_tensors if has_copy else images.tensors)[name]
        return in_this_graph(image) if captured else image
    op = region.graph.get_tensor_by_name(name).op
    # All others are in one part of the region only.
    if op.type not in ("Const", "Identity"):
        raise KeyError(name)
    copied = copy_operations(
        region,
        [op],
        lambda inner: constant_or_image(region, inner, images, on_host=on_host),
        {op.name: frozenset()},
    )
    return copied.tensors[name]


def scope_of(region: Region, images: TensorMap) -> ConstantScope:
    """Return the scope of the constants of `region`."""
    return ConstantScope(
        region,
        images.constants,
        lambda name: constant_or_image(region, name, images, on_host=False),
    )
