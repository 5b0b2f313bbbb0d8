"""Dtypes and shapes in the source, seen through what replicas must agree on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import found_marks, program
from tests.rules.openings import V1

REPLICAS = """
import sys

import numpy as np
from data import random, reader

whole = tf.zeros([8], tf.int32)
sizes, some = [], []
for each in sys.argv:
    sizes.append(8)
    some.append(1)

def computation(x):
    return x

tf.tpu.replicate(computation, [[{value}], [{other}]], maximum_shapes={maximums})
"""

# Literals, and the dtype that TensorFlow makes of them.
DTYPES = {
    "tf.zeros([2])": "float32",
    "tf.ones([2], tf.int32)": "int32",
    "tf.zeros([2], dtype=tf.int64)": "int64",
    "tf.zeros([2], None)": "float32",
    "tf.constant(1)": "int32",
    "tf.constant(True)": "bool",
    "tf.constant('a')": "string",
    "tf.constant(1, 'int64')": "int64",
    "tf.constant(1, np.float64)": "float64",
    "tf.constant(1, dtype=None)": "int32",
    "tf.constant([1, 2])": "int32",
    "tf.constant([1, 2.0])": "float32",
    "tf.constant([[1.0], [2.0]])": "float32",
    "tf.fill([2], 1.0)": "float32",
    "tf.zeros_like(whole)": "int32",
    "tf.cast(whole, tf.float32)": "float32",
    "tf.placeholder(tf.int32)": "int32",
    "tf.placeholder_with_default(1, [])": "int32",
    "tf.random.uniform([2], 0, 4, tf.int32)": "int32",
    "tf.truncated_normal([2])": "float32",
    "1": "int32",
    "2.5": "float32",
}
UNSEEN = {
    "a dtype that is a setting": "tf.zeros([2], reader.DTYPE)",
    "one dtype or the other": "tf.zeros([2], tf.int32 if len(sys.argv) > 1 else tf.float32)",
    "another name of a dtype": "tf.zeros([2], tf.double)",
    "a list that is empty": "tf.constant([])",
    "a list with what is not seen": "tf.constant([1, reader.number()])",
    "a list of different kinds": "tf.constant([True, 1])",
    "the type of a range": "tf.range(reader.number())",
    "a function of the project's that is called like TensorFlow's": "random.uniform([2])",
    "nothing is given": "tf.constant(None)",
    "a value that is filled in, not seen": "tf.fill([2], reader.number())",
    "a list that may be empty": "tf.constant(some)",
}

SHAPED = {
    "by a list": "tf.zeros([8])",
    "by a tuple": "tf.zeros((8,))",
    "by a keyword": "tf.ones(shape=[8])",
    "by a TensorShape": "tf.placeholder(tf.float32, tf.TensorShape([8]))",
    "by the value": "tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])",
    "by the value, the shape is none": "tf.constant([1.0] * 8, shape=None)",
    "by the shape of a constant": "tf.constant(0.0, shape=[8])",
    "by the position of the shape": "tf.constant(0.0, tf.float32, [8])",
    "by what is filled": "tf.fill([8], 0.0)",
    "by what is drawn": "tf.random.normal([8])",
    "by another tensor": "tf.zeros_like(whole)",
    "by what is cast": "tf.cast(whole, tf.float32)",
    "by a default": "tf.placeholder_with_default(whole, [8])",
    "by a list of scalars": "tf.constant([whole[0]] and [tf.constant(1.0)] * 8)",
}
SHAPELESS = {
    "a size that is not seen": "tf.zeros([reader.number()])",
    "a shape that is not seen": "tf.zeros(reader.shape())",
    "a shape that grows in a loop": "tf.zeros(sizes)",
    "a list of different lengths": "tf.constant([[1.0], [1.0, 2.0]])",
    "a default of another shape": "tf.placeholder_with_default(whole, [None])",
    "a part of a tensor": "whole[:2]",
    "a list that may be longer": "tf.constant([1.0] * 8 + [2.0 for each in sys.argv])",
    "a range": "tf.range(8)",
}


def codes(value: str, other: str, folder: Path, maximums: str = "None") -> list[tuple[str, str]]:
    text = V1 + REPLICAS.replace("{value}", value).replace("{other}", other)
    actual = found_marks(program(text.replace("{maximums}", maximums)), folder)
    return [(item.code, item.certainty) for item in actual if item.code in ("TPU402", "TPU404")]


@pytest.mark.parametrize("value", DTYPES)
def test_the_dtype_of_a_literal(value: str, tmp_path: Path) -> None:
    assert codes(value, f"tf.zeros([2], tf.{DTYPES[value]})", tmp_path) == []
    assert codes(value, "tf.zeros([2], tf.complex64)", tmp_path) == [("TPU402", "definite")]


@pytest.mark.parametrize("name", UNSEEN)
def test_a_dtype_that_is_not_seen_differs_from_none(name: str, tmp_path: Path) -> None:
    assert codes(UNSEEN[name], "tf.zeros([2], tf.complex64)", tmp_path) == []


@pytest.mark.parametrize("name", SHAPED)
def test_the_shape_of_a_literal(name: str, tmp_path: Path) -> None:
    codes_found = codes(SHAPED[name], "tf.zeros([2])", tmp_path, "[tf.TensorShape([3])]")
    assert ("TPU404", "definite") in codes_found


@pytest.mark.parametrize("name", SHAPELESS)
def test_a_shape_that_is_not_seen_is_not_too_large(name: str, tmp_path: Path) -> None:
    codes_found = codes(SHAPELESS[name], "tf.zeros([2])", tmp_path, "[tf.TensorShape([3])]")
    assert [pair for pair in codes_found if pair[0] == "TPU404"] == []


def test_an_array_is_no_list_of_rows_and_a_split_array_is_one(tmp_path: Path) -> None:
    """The second is read as rows; a slice of rows is rows, too."""
    text = V1 + (
        "import numpy as np\n\nrows = [[tf.zeros([2])]] * 4\n"
        "tf.tpu.replicate(tf.identity, np.array([[1.0]]))\n"
        "tf.tpu.replicate(tf.identity, np.split(data, 8))\n"
        "tf.tpu.replicate(tf.identity, rows[:2])\n"
        "tf.tpu.replicate(\n    tf.identity,\n    3)\n"
    )
    actual = [mark for mark in found_marks(program(text), tmp_path) if mark.code == "TPU401"]
    assert [(item.row, item.certainty) for item in actual] == [(7, "definite"), (10, "definite")]
