"""The sizes of matrix products and convolutions, from the shapes of operands and results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tpulint.runtime.extract.region import Operation

# The sizes of a product: how many there are, and the rows, depth and columns of each.
Sizes = tuple[int, int, int, int]
Shapes = Sequence[Any]


def _matrix_product(op: Operation, inputs: Shapes, output: Any) -> Sizes:
    is_transposed = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
    depth = inputs[0][-2 if is_transposed else -1]
    return math.prod(output[:-2]), output[-2], depth, output[-1]


def _einsum(op: Operation, inputs: Shapes, output: Any) -> Sizes | None:
    terms, _, result = op.get_attr("equation").decode().replace(" ", "").partition("->")
    names = terms.split(",")
    if len(names) != 2:
        return None
    result, *names = (name.rpartition("...")[2] for name in (result, *names))
    sizes: dict[str, int] = {}
    for name, shape in zip((*names, result), (*inputs, output), strict=True):
        # The dimensions of an ellipsis are the first ones: all are batch.
        sizes.update(zip(reversed(name), reversed(shape)))
    batch = math.prod(output[: len(output) - len(result)])
    left, right, out = set(names[0]), set(names[1]), set(result)
    return (
        batch * math.prod(sizes[name] for name in left & right & out),
        math.prod(sizes[name] for name in (left & out) - right),
        math.prod(sizes[name] for name in (left & right) - out),
        math.prod(sizes[name] for name in (right & out) - left),
    )


def _convolution(op: Operation, inputs: Shapes, output: Any) -> Sizes:
    """Return the sizes of a convolution, or of its gradient: each pixel of a result is a row."""
    is_to_input, is_to_filter = "BackpropInput" in op.type, "BackpropFilter" in op.type
    image = output if is_to_input else inputs[0]
    kernel = output if is_to_filter else inputs[1]
    result = inputs[2] if is_to_input or is_to_filter else output
    has_channels_first = op.get_attr("data_format").startswith(b"NC")
    rows = result[0] * math.prod(result[2:] if has_channels_first else result[1:-1])
    if op.type.startswith("Depthwise"):  # a kernel of each channel is alone
        return kernel[-2] * kernel[-1], rows, math.prod(kernel[:-2]), 1
    groups = image[1 if has_channels_first else -1] // kernel[-2]
    depth, columns = math.prod(kernel[:-1]), kernel[-1] // groups
    if is_to_input:
        return groups, rows, columns, depth
    return (groups, depth, rows, columns) if is_to_filter else (groups, rows, depth, columns)


_DEPTHWISE = "DepthwiseConv2dNative"
SIZES: dict[str, Callable[[Operation, Shapes, Any], Sizes | None]] = {
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _matrix_product),
    "Einsum": _einsum,
    **dict.fromkeys(("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"), _convolution),
    **dict.fromkeys(("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"), _convolution),
    **{_DEPTHWISE + kind: _convolution for kind in ("", "BackpropInput", "BackpropFilter")},
}
