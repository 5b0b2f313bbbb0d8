"""Copy marked operations, without their marks, into the graph that is being built.

The copy goes through GraphDef import: one call into TensorFlow's C++ for any number of operations.

XLA knows a padded dimension by its bound, and its size by an argument. In older releases XLA for
the CPU compiles no operation of two tensors whose sizes are two arguments, equal or not ("Fail to
proof the equality of two dimensions at compile time"); a TPU's compiler takes them for equal. With
these releases the dynamic dimensions of a region's inputs are cut to their sizes before the device
takes them, and the program is compiled for these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.extract.region import Operation, Region, Tensor
from tpulint.runtime.mark.marked import MARKS
from tpulint.runtime.tensorflow_internals import graphs, operations


@dataclass(frozen=True, eq=False)
class DynamicSize:
    """Dimension `dimension` of the region's input `name` has the size that `size` names."""

    name: str
    dimension: int
    size: str


_SET_SIZE = "XlaSetDynamicDimensionSize"


def find_cut_sizes(region: Region) -> Iterator[DynamicSize]:
    """Yield the dimensions of the inputs of `region` that are cut."""
    return find_sizes(region) if operations.xla_compares_sizes() else iter(())


def find_sizes(region: Region) -> Iterator[DynamicSize]:
    """Yield the dimensions of the inputs of `region` that have a size of their own."""
    for op in region.ops:
        if op.type == _SET_SIZE:
            tensor = op.inputs[0]
            # The size of one dimension is set after that of another.
            while tensor.op.type == op.type:
                tensor = tensor.op.inputs[0]
            dimension = int(tf.get_static_value(op.inputs[1]))
            yield DynamicSize(tensor.name, dimension, op.inputs[2].name)


def cut_dimension(tensor: Tensor, dimension: int, size: Tensor) -> Tensor:
    """Return the first `size` slices of `tensor` along `dimension`."""
    shape = tf.shape(tensor)
    sizes = tf.tensor_scatter_nd_update(shape, [[dimension]], [tf.reshape(size, [])])
    return tf.slice(tensor, tf.zeros_like(shape), sizes)


def clamped_value(op: Operation) -> Tensor | None:
    """Return the constant that `op` gives whatever the data: min(n, max(m, x)) is n where m >= n.

    `tf.math.bincount` computes its size so, of `maxlength` and `minlength`.
    """
    if op.type != "Minimum" or op.inputs[1].op.type != "Maximum" or op.outputs[0].shape.rank:
        return None
    limit = tf.get_static_value(op.inputs[0])
    floors = [tf.get_static_value(tensor) for tensor in op.inputs[1].op.inputs]
    is_reached = limit is not None and any(it is not None and it >= limit for it in floors)
    return op.inputs[0] if is_reached else None


_NO_OP_ON_DEVICE = frozenset({"Assert"})


@dataclass(frozen=True, eq=False)
class Copied:
    """The tensors and operations that `copy_operations` made, by their names in the region."""

    tensors: Mapping[str, Tensor]
    operations: Mapping[str, Operation]


def inputs_of(ops: Sequence[Operation]) -> dict[str, Tensor]:
    """Return the tensors, by name, that `ops` take from others."""
    own = {op.name for op in ops}
    return {tensor.name: tensor for op in ops for tensor in op.inputs if tensor.op.name not in own}


def copy_operations(
    region: Region,
    ops: Sequence[Operation],
    image: Callable[[str], Tensor],
    before: Mapping[str, frozenset[str]],
    *,
    on_device: bool = False,
    with_marks: bool = False,
) -> Copied:
    """Copy `ops`. `image` gives their inputs from other operations, `before` their own order."""
    graph_def = tf.compat.v1.GraphDef()
    graph_def.versions.CopyFrom(region.graph.graph_def_versions)
    own = {op.name for op in ops}
    outside: dict[str, Tensor] = {}
    for op in ops:
        node = graph_def.node.add()
        node.CopyFrom(region.nodes[op.name])
        # The device scopes in a computation name cores, of which this machine has none.
        node.device = ""
        # Colocated operations may be in other segments.
        node.attr.pop("_class", None)
        for mark in () if with_marks else MARKS:
            node.attr.pop(mark, None)
        del node.input[:]
        if op.type == "TensorArrayV3" and region.cluster_of(op) is None:
            node.attr["clear_after_read"].b = False  # XLA keeps what has been read
        if on_device and op.type in _NO_OP_ON_DEVICE:
            # As XLA compiles it: on a device no assertion can fail.
            node.op = "NoOp"
            node.attr.clear()
        else:
            taken = op.inputs
            if on_device and op.type == _SET_SIZE and operations.xla_compares_sizes():
                taken = taken[:1]
                _make_identity(node)
            elif on_device and (limit := clamped_value(op)) is not None:
                taken = [limit]
                _make_identity(node)
            for tensor in taken:
                node.input.append(tensor.name)
                if tensor.op.name not in own:
                    outside[tensor.name] = tensor
        # A constant from outside the region has no place in its order.
        node.input.extend(f"^{name}" for name in sorted(before.get(op.name, frozenset()) & own))
    graphs.share_functions(region.graph, graph_def.node)
    # A NoOp has no outputs that could be asked for.
    copied_ops = [op for op in ops if not (on_device and op.type in _NO_OP_ON_DEVICE)]
    output_names = [tensor.name for op in copied_ops for tensor in op.outputs]
    results = tf.graph_util.import_graph_def(
        graph_def,
        input_map={name: image(name) for name in outside},
        return_elements=[*output_names, *(op.name for op in ops)],
        name="",
    )
    copies = results[len(output_names) :]
    return Copied(
        dict(zip(output_names, results)), {op.name: copied for op, copied in zip(ops, copies)}
    )


def _make_identity(node: Any) -> None:
    node.op = "Identity"
    for name in set(node.attr) - {"T"}:
        del node.attr[name]
