"""The memory of a TPU: how its tiles pad a tensor, and what each generation of TPUs has.

XLA keeps a tensor in tiles. A layout names the dimensions from the minor one, which is contiguous,
to the major one, and then the tiles: `f32[4096,10]{1,0:T(8,128)}` takes 4096 x 128 elements. XLA's
documentation of "tiled layout" defines the arithmetic. Which layout a TPU's compiler chooses is
not known without it. So there are two figures where no layout is known: `least_bytes`, which no
layout is below, and the bytes of `row_major`, the layout in which many tensors are made.

The analyzer and the emulator use this module; it does no more than arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

LANES = 128  # elements of a row of a tile: the minor dimension is a multiple of it
SUBLANES = 8  # rows of a tile of 32-bit elements
MOSTLY_PADDING = 8.0  # the factor from which padding is worth a change of a program

_BITS = {
    **dict.fromkeys(("bool", "pred", "int8", "s8", "uint8", "u8", "qint8", "quint8"), 8),
    **dict.fromkeys(("float8_e5m2", "f8e5m2", "float8_e4m3fn", "f8e4m3fn"), 8),
    **dict.fromkeys(("bfloat16", "bf16", "float16", "half", "f16"), 16),
    **dict.fromkeys(("int16", "s16", "uint16", "u16", "qint16", "quint16"), 16),
    **dict.fromkeys(("float32", "f32", "int32", "s32", "uint32", "u32", "qint32"), 32),
    **dict.fromkeys(("float64", "double", "f64", "int64", "s64", "uint64", "u64"), 64),
    **dict.fromkeys(("complex64", "c64"), 64),
    **dict.fromkeys(("complex128", "c128"), 128),
    **dict.fromkeys(("int4", "s4", "uint4", "u4"), 4),
}


class Layout(NamedTuple):
    """The dimensions from the minor to the major one, and the tiles, the outer one first.

    `bits` are those that an element takes where they are not its own: a truth value may take 32.
    """

    minor_to_major: tuple[int, ...]
    tiles: tuple[tuple[int, ...], ...]
    bits: int = 0

    def __str__(self) -> str:
        order = ",".join(map(str, self.minor_to_major))
        tiles = "".join(f"({','.join(map(str, tile))})" for tile in self.tiles)
        return f"{{{order}:T{tiles}}}" if tiles else f"{{{order}}}"


def dense_bytes(shape: Sequence[int], dtype: str) -> int:
    """Return the size of a tensor without padding."""
    return math.ceil(math.prod(shape) * (_BITS.get(dtype, 0) / 8))


def padded_bytes(shape: Sequence[int], dtype: str, layout: Layout) -> int:
    """Return the memory that a tensor takes in `layout`.

    A layout without tiles has those that `row_major` would give its last two dimensions.
    """
    sizes = [shape[dimension] for dimension in reversed(layout.minor_to_major)]
    for tile in layout.tiles or _usual_tiles(sizes, dtype):
        sizes = [1] * (len(tile) - len(sizes)) + sizes
        major, inner = sizes[: -len(tile)], sizes[-len(tile) :]
        counts = [math.ceil(size / side) for size, side in zip(inner, tile, strict=True)]
        sizes = [*major, *counts, *tile]
    return math.prod(sizes) * layout.bits // 8 if layout.bits else dense_bytes(sizes, dtype)


def _usual_tiles(sizes: Sequence[int], dtype: str) -> tuple[tuple[int, ...], ...]:
    """Return the tiles of a tensor whose dimensions, from the major to the minor one, are `sizes`.

    Narrow elements are packed, so that each 32-bit word of a tile holds several rows. A tile has
    fewer rows where the dimension before the minor one is small.
    """
    elements_per_word = 32 // _BITS.get(dtype, 32) or 1
    packing = ((elements_per_word, 1),) if elements_per_word > 1 else ()
    if len(sizes) < 2:
        wide = ((LANES * elements_per_word,), (LANES,), *packing)
        return wide if elements_per_word > 1 else ((LANES,),)
    small = (2, 4) if elements_per_word == 1 else (4,)
    rows = next((rows for rows in small if sizes[-2] <= rows), SUBLANES)
    return ((max(rows, elements_per_word), LANES), *packing)


def row_major(shape: Sequence[int], dtype: str) -> Layout:
    """Return the layout with the last dimension minor, in which XLA makes many tensors.

    Memory reports of TPUs show it for the results of `one_hot`, `iota` and `reshape`.
    """
    return Layout(tuple(reversed(range(len(shape)))), _usual_tiles(shape, dtype))


def best_layout(shape: Sequence[int], dtype: str) -> Layout:
    """Return the layout that takes `least_bytes`: only its minor dimension is padded."""
    axes = range(len(shape))
    orders = [(minor, *(axis for axis in reversed(axes) if axis != minor)) for minor in axes]
    layouts = [Layout(order, ((LANES,),)) for order in orders or [()]]  # a scalar has no axis
    return min(layouts, key=lambda layout: padded_bytes(shape, dtype, layout))


def least_bytes(shape: Sequence[int], dtype: str) -> int:
    """Return a size that no tiled layout is below."""
    return padded_bytes(shape, dtype, best_layout(shape, dtype))


def padding_factor(shape: Sequence[int], dtype: str) -> float:
    """Return how many times its size a tensor takes in row-major layout; 1 without elements."""
    dense = dense_bytes(shape, dtype)
    return padded_bytes(shape, dtype, row_major(shape, dtype)) / dense if dense else 1.0


def rounded_up(size: int, multiple: int) -> int:
    return math.ceil(size / multiple) * multiple


def readable_bytes(size: float) -> str:
    """Return a size as memory reports of TPUs write it: in powers of 1024."""
    for unit in ("B", "KB", "MB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:,.4g} GB"


class Device(NamedTuple):
    """A core of a generation of TPUs, which is what one replica runs on.

    memory: the bytes of its HBM. matrix_unit: the side of the square that multiplies matrices.
    flops: the operations per second on bfloat16, at most. bandwidth: the bytes per second between
    the core and its HBM, at most.
    """

    name: str
    memory: int
    matrix_unit: int
    flops: float
    bandwidth: float
    source: str

    @property
    def flops_per_byte(self) -> float:
        """Return the ridge of the roofline: with fewer, memory limits a computation."""
        return self.flops / self.bandwidth


_GIB = 1024**3
_SUPERCOMPUTER = "Jouppi et al., A Domain-Specific Supercomputer for Training DNNs, CACM 63(7)"
_DOCS = "https://cloud.google.com/tpu/docs/"


# The sources have the numbers of a chip. One of v2 or v3 has two cores: these are half of them. A
# chip of v4 or v5p has two as well, which a program uses as one.
_DEVICES = (
    Device("v2", 8 * _GIB, 128, 22.5e12, 350e9, _SUPERCOMPUTER),
    Device("v3", 16 * _GIB, 128, 61.5e12, 450e9, f"{_DOCS}v3"),
    Device("v4", 32 * _GIB, 128, 275e12, 1200e9, f"{_DOCS}v4"),
    Device("v5e", 16 * _GIB, 128, 197e12, 819e9, f"{_DOCS}v5e"),
    Device("v5p", 95 * _GIB, 128, 459e12, 2765e9, f"{_DOCS}v5p"),
    Device("v6e", 32 * _GIB, 256, 918e12, 1638e9, f"{_DOCS}v6e"),
)
DEVICES = {device.name: device for device in _DEVICES}
