"""The arithmetic of tiles, measured by what the compilers of real TPUs reported."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tpulint.hardware import (
    DEVICES,
    Layout,
    best_layout,
    dense_bytes,
    least_bytes,
    padded_bytes,
    padding_factor,
    readable_bytes,
    row_major,
)

MEASURED = Path(__file__).with_name("measured_sizes.tsv")
UNITS = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30}
LAYOUT = re.compile(r"\{([\d,]*)(?::T((?:\([\d,]+\))+))?(?:E\((\d+)\))?\}")


class Measured(NamedTuple):
    shape: tuple[int, ...]
    dtype: str
    layout: Layout
    unpadded: str
    padded: str


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number)


def parse_layout(text: str) -> Layout:
    match = LAYOUT.fullmatch(text)
    assert match is not None, text
    tiles = tuple(map(numbers, re.findall(r"\(([\d,]+)\)", match[2] or "")))
    return Layout(numbers(match[1]), tiles, int(match[3] or 0))


def measured() -> list[Measured]:
    lines = MEASURED.read_text(encoding="utf-8").splitlines()
    assert lines[1].split("\t") == ["shape", "layout", "unpadded", "padded", "source"]
    rows = []
    for line in lines[2:]:
        tensor, layout, unpadded, padded, source = line.split("\t")
        assert source
        dtype, _, shape = tensor.rstrip("]").partition("[")
        rows.append(Measured(numbers(shape), dtype, parse_layout(layout), unpadded, padded))
    return rows


def agrees(size: int, report: str) -> bool:
    """Return whether `report` is `size`, as far as it is written out."""
    number, unit = report[:-1], UNITS[report[-1]]
    digits = len(number.partition(".")[2])
    # Reports cut digits off, or round.
    return abs(size / unit - float(number)) < 10**-digits


@pytest.mark.parametrize("row", measured(), ids=lambda row: f"{row.dtype}{list(row.shape)}")
def test_a_measured_size(row: Measured) -> None:
    if row.unpadded != "-":
        assert agrees(dense_bytes(row.shape, row.dtype), row.unpadded)
    padded = padded_bytes(row.shape, row.dtype, row.layout)
    assert agrees(padded, row.padded)
    assert dense_bytes(row.shape, row.dtype) <= least_bytes(row.shape, row.dtype) <= padded


# Where the tiles are not the usual ones, and why.
UNUSUAL = {
    ((2, 32, 32, 1, 2, 128), "bf16"),  # a TPU v6e has tiles of one word
    ((16,), "f32"),  # of the vector memory, not of HBM
}


def test_the_usual_tiles_are_those_of_the_reports() -> None:
    for row in measured():
        usual = row.layout._replace(tiles=())
        size = padded_bytes(row.shape, row.dtype, usual)
        as_measured = size == padded_bytes(row.shape, row.dtype, row.layout)
        assert as_measured == ((row.shape, row.dtype) not in UNUSUAL), row


def test_no_layout_is_below_the_least_size() -> None:
    draw = random.Random(7)
    for _ in range(200):
        shape = [draw.choice([1, 2, 3, 7, 8, 64, 127, 128, 130, 300]) for _ in range(3)]
        dtype = draw.choice(["f32", "bf16", "s8", "s64"])
        tiles = draw.choice([((8, 128),), ((4, 128), (2, 1)), ((1, 128),), ((32, 128), (4, 1))])
        for order in itertools.permutations(range(3)):
            size = padded_bytes(shape, dtype, Layout(order, tiles))
            assert size >= least_bytes(shape, dtype)


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [
        ((), "f32", 512),
        ((0, 4), "f32", 0),
        ((10,), "float32", 512),
        ((10,), "bfloat16", 512),
        ((16, 100), "int8", 2048),
        ((1000, 1, 128), "float32", 1000 * 2 * 512),
        ((1000, 3, 128), "float32", 1000 * 4 * 512),
        ((1000, 1, 128), "bfloat16", 1000 * 4 * 256),
        ((1000, 3, 128), "int8", 1000 * 4 * 128),
        ((1000, 2), "bool", 1000 * 128),
        ((1000, 2), "string", 0),
    ],
)
def test_row_major_sizes(shape: tuple[int, ...], dtype: str, size: int) -> None:
    assert padded_bytes(shape, dtype, row_major(shape, dtype)) == size


def test_the_best_layout_puts_a_multiple_of_128_last() -> None:
    assert str(best_layout((29360128, 10), "s32")) == "{0,1:T(128)}"
    assert str(row_major((29360128, 10), "s32")) == "{1,0:T(8,128)}"
    assert padding_factor((29360128, 10), "s32") == 12.8
    assert padding_factor((0,), "s32") == 1.0


def test_a_core_of_v3_has_half_a_chip() -> None:
    device = DEVICES["v3"]
    assert readable_bytes(device.memory) == "16 GB"
    assert (device.flops, device.bandwidth) == (61.5e12, 450e9)
    assert round(device.flops_per_byte) == 137
    assert readable_bytes(1000) == "1000 B"
