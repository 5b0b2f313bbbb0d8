"""Programs with TPU401, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "a missed alarm: constants that a comprehension makes": V1
    + """
def computation(x):
    return x

tf.tpu.replicate(computation, [tf.constant(float(i)) for i in range(2)])  # error: TPU401
tf.tpu.replicate(computation, [[tf.constant(float(i))] for i in range(2)])
""",
    "rows of unknown kind, made in several ways": V1
    + """
def computation(*args):
    return tf.add_n(args)

def build(first, second, columns, number):
    tf.tpu.replicate(computation, [first, second])
    tf.tpu.replicate(computation, list(zip(*columns)))
    tf.tpu.replicate(computation, [[part] for part in tf.split(first, 2)])
    tf.tpu.replicate(computation, [[]] * number)
    tf.tpu.replicate(computation, tf.nest.map_structure(lambda value: [value], columns))
    rows = []
    for column in columns:
        rows.append((column,))
    tf.tpu.replicate(computation, rows)
    placed, parts = [], []
    for column in columns:
        placed.append(tf.placeholder(column.dtype, [None, 3]))
        parts.append(tf.split(column, 2))
    tf.tpu.replicate(computation, placed)  # possible: TPU401
    tf.tpu.replicate(computation, parts)
    tf.tpu.replicate(computation, inputs=None)
    return tf.tpu.replicate(computation)
""",
    "a list that one branch makes right": V1
    + """
def computation(x):
    return x

def build(x, flag):
    inputs = [[x], [x]]
    if flag:
        inputs = [[x], [x], [x], [x]]
    return tf.tpu.replicate(computation, inputs)
""",
    "inputs of many wrong kinds": V1
    + """
import numpy as np
from tensorflow.compat.v1.tpu import replicate, split_compile_and_replicate  # error: TPU801

def computation(x):
    return x

def build(x, many, flag):
    variable = tf.get_variable("v", [8])
    replicate(computation, ([x], [x]))  # error: TPU401
    replicate(computation, {"x": x})  # error: TPU401
    replicate(computation, [[x], {"x": x}])  # error: TPU401
    replicate(computation, variable)  # error: TPU401
    replicate(computation, [1.0, 2.0])  # error: TPU401
    replicate(computation, [tf.zeros([2]) for _ in many])  # possible: TPU401
    split_compile_and_replicate(computation, np.asarray([[1.0]]))  # error: TPU401
    return replicate(computation, [[x]] if flag else ([x],))  # possible: TPU401
""",
    "sets, and lists of which one may be right": V1
    + """
def computation(*args):
    return args[0]

def build(x, many, flag):
    tf.tpu.replicate(computation, [{"a"}, {"b"}])  # error: TPU401
    tf.tpu.replicate(computation, [[x], [x] if flag else 1.0])
    return tf.tpu.replicate(
        computation, [1.0] if flag else [tf.zeros([2]) for _ in many]  # possible: TPU401
    )
""",
    "rows that are no list of lists are reported once": V1
    + """
def computation(*args):
    return args[0]

def build(a, b):
    tf.tpu.replicate(computation, ([a], [a, b]))  # error: TPU401
    return tf.tpu.replicate(computation, [{a}, {a, b}])  # error: TPU401
""",
    "numbers of replicas that are not seen, or none": V1
    + """
def build(x, count, more):
    tf.tpu.shard(tf.sin, [x], num_shards=count)
    tf.tpu.shard(tf.sin, [x], num_shards="3")
    tf.tpu.replicate(tf.sin, [[x], [x], *more])
    tf.tpu.replicate(tf.sin, [[x], [x], [x], *more])
    tf.tpu.replicate(tf.sin, ([x], [x], [x]))  # error: TPU401
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
