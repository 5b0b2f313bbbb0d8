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
    depth = inputs[0][0 if op.get_attr("transpose_a") else 1]
    return 1, output[0], depth, output[1]


def _batch_product(op: Operation, inputs: Shapes, output: Any) -> Sizes:
    depth = inputs[0][-2 if op.get_attr("adj_x") else -1]
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


def _spatial(op: Operation, shape: Sequence[int]) -> Sequence[int]:
    return shape[2:] if op.get_attr("data_format").startswith(b"NC") else shape[1:-1]


def _convolution(op: Operation, image: Any, kernel: Any, result: Any) -> Sizes:
    """Return the sizes of a convolution: each pixel of `result` is a row."""
    groups = image[1 if op.get_attr("data_format").startswith(b"NC") else -1] // kernel[-2]
    rows = result[0] * math.prod(_spatial(op, result))
    return groups, rows, math.prod(kernel[:-1]), kernel[-1] // groups


def _forward(op: Operation, inputs: Shapes, output: Any) -> Sizes:
    return _convolution(op, inputs[0], inputs[1], output)


def _to_input(op: Operation, inputs: Shapes, output: Any) -> Sizes:
    groups, rows, depth, columns = _convolution(op, output, inputs[1], inputs[2])
    return groups, rows, columns, depth


def _to_filter(op: Operation, inputs: Shapes, output: Any) -> Sizes:
    groups, rows, depth, columns = _convolution(op, inputs[0], output, inputs[2])
    return groups, depth, rows, columns


def _depthwise(op: Operation, kernel: Any, result: Any) -> Sizes:
    """Return the sizes of a depthwise convolution: a kernel of each channel is alone."""
    pixels = result[0] * math.prod(_spatial(op, result))
    return kernel[-2] * kernel[-1], pixels, math.prod(kernel[:-2]), 1


SIZES: dict[str, Callable[[Operation, Shapes, Any], Sizes | None]] = {
    "MatMul": _matrix_product,
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _batch_product),
    "Einsum": _einsum,
    **dict.fromkeys(("Conv2D", "Conv3D"), _forward),
    **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInputV2"), _to_input),
    **dict.fromkeys(("Conv2DBackpropFilter", "Conv3DBackpropFilterV2"), _to_filter),
    "DepthwiseConv2dNative": lambda op, inputs, output: _depthwise(op, inputs[1], output),
    "DepthwiseConv2dNativeBackpropInput": lambda op, inputs, output: _depthwise(
        op, inputs[1], inputs[2]
    ),
    "DepthwiseConv2dNativeBackpropFilter": lambda op, inputs, output: _depthwise(
        op, output, inputs[2]
    ),
}
