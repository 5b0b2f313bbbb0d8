"""Programs with TPU402, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "None beside a tensor, and lists that are not closed": V1
    + """
def computation(*args):
    return args[0]

def build(a, b, more):
    tf.tpu.replicate(computation, [[a, None], [b, a]])
    tf.tpu.replicate(computation, [[tf.constant(1.0)], [2.0]])
    tf.tpu.replicate(computation, [[a, *more], [b]])
    return tf.tpu.replicate(computation, [[{"x": a, **more}], [{"x": b}]])
""",
    "rows that differ deep inside": V1
    + """
def computation(*args):
    return args[0]

def build(a, b):
    integers = tf.zeros([2], dtype=tf.int32)
    floats = tf.fill([2], 1.0)
    tf.tpu.replicate(computation, [[[a, [b]]], [[a, [b, b]]]])  # error: TPU402
    tf.tpu.replicate(computation, [[(a, b)], [[a, b]]])  # error: TPU402
    tf.tpu.replicate(computation, [[{"x": integers}], [{"x": floats}]])  # error: TPU402
    tf.tpu.replicate(computation, [[integers], [1.0]])  # error: TPU402
    return tf.tpu.replicate(computation, [[a]] * 3 + [[a, b]])  # error: TPU402
""",
    "rows that may be equal": V1
    + """
def computation(*args):
    return args[0]

def build(a, b, flag, many, more):
    integers = tf.zeros([2], dtype=tf.int32)
    floats = tf.fill([2], 1.0)
    tf.tpu.replicate(computation, [[integers], [floats if flag else integers]])
    tf.tpu.replicate(computation, [[floats if flag else integers], [floats]])
    tf.tpu.replicate(computation, [[a, *more], [b, b, a]])
    tf.tpu.replicate(computation, [[b, b, a], [a, *more]])
    tf.tpu.replicate(computation, [[{"x": a}], [{**more}]])
    tf.tpu.replicate(computation, [[{**more}], [{"x": a}]])
    tf.tpu.replicate(computation, [[tf.split(a, 2)], [[a, b]]])
    tf.tpu.replicate(computation, [[[a, b]], [many]])
    tf.tpu.replicate(computation, [[integers], [a]])
    rows = [[a]]
    for each in many:
        rows.append([each, each])
    return tf.tpu.replicate(computation, rows)
""",
    "rows that shards cannot share": V1
    + """
def computation(*args):
    return args[0]

def build(a, flag):
    odd, even = tf.zeros([15, 4]), tf.zeros([16, 4])
    tf.tpu.shard(computation, [even, odd], num_shards=2)  # error: TPU402
    return tf.tpu.batch_parallel(computation, [odd], 4)  # error: TPU402
""",
    "rows that shards can share": V1
    + """
def computation(*args):
    return args[0]

def build(a, flag, count):
    odd, even = tf.zeros([15, 4]), tf.zeros([16, 4])
    tf.tpu.shard(computation, [even], num_shards=2)
    tf.tpu.shard(computation, [odd], num_shards=2, input_shard_axes=[1])
    tf.tpu.shard(computation, [odd if flag else even], num_shards=2)
    tf.tpu.shard(computation, [odd], num_shards=count)
    tf.tpu.shard(computation, [odd])
    tf.tpu.shard(computation, [tf.placeholder(tf.float32, [None, 3]), a], num_shards=2)
    return tf.tpu.batch_parallel(computation, [even], 4)
""",
    "structures that certainly differ": V1
    + """
def computation(*args):
    return args[0]

def build(a, b):
    integers = tf.zeros([2], dtype=tf.int32)
    floats = tf.fill([2], 1.0)
    tf.tpu.replicate(computation, [[{"x": a}], [[a]]])  # error: TPU402
    tf.tpu.replicate(computation, [[[a]], [{"x": a}]])  # error: TPU402
    tf.tpu.replicate(computation, [[[a]], [1.0]])  # error: TPU402
    tf.tpu.replicate(computation, [[1.0], [[a]]])  # error: TPU402
    tf.tpu.replicate(computation, [[{"x": a}], [integers]])  # error: TPU402
    tf.tpu.replicate(computation, [[a, integers], [a, {"x": a}]])  # error: TPU402
    first, second = {"x": a, "y": integers}, {"x": a, "y": floats}
    return tf.tpu.replicate(computation, [[first], [second]])  # error: TPU402
""",
    "None stands for the number 0": V1
    + """
def computation(*args):
    return args[0]

def build():
    integers = tf.zeros([], dtype=tf.int32)
    tf.tpu.replicate(computation, [[None], [integers]])
    tf.tpu.replicate(computation, [[None], [None]])
    return tf.tpu.replicate(computation, [[tf.fill([], 1.0)], [None]])  # error: TPU402
""",
    "other faults of the rows are not the shapes'": V1
    + """
def computation(*args):
    return args[0]

def build(a):
    shape = tf.TensorShape
    six = tf.zeros([6])
    shapes = [shape([4]), shape([4])]
    tf.tpu.replicate(computation, [[six, six], [six]], maximum_shapes=shapes)  # error: TPU402
    return tf.tpu.replicate(
        computation, [[six], [tf.zeros([6, 2])]], maximum_shapes=[shape([4])]
    )
""",
    "lists that change after the call": V1
    + """
def computation(x):
    return x

def build(a, b):
    rows = [[a], [b]]
    tf.tpu.replicate(computation, rows)
    rows.append([a])
    rows[0].append(b)
    row = [a]
    tf.tpu.rewrite(computation, row if a is None else [b])
    row.append(b)
    named = {"x": a}
    rows = [[named], [{"x": b}]]
    tf.tpu.replicate(computation, rows)
    named["y"] = b
    return rows
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
