"""The content of `inputs`, `maximum_shapes` and `padding_spec`, certain and possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

PROGRAMS = {
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
    "rows that are no list of lists are said once": V1
    + """
def computation(*args):
    return args[0]

def build(a, b):
    tf.tpu.replicate(computation, ([a], [a, b]))  # error: TPU401
    return tf.tpu.replicate(computation, [{a}, {a, b}])  # error: TPU401
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
    "structures that surely differ": V1
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
    "maximum shapes of inputs that are not all seen": V1
    + """
from elsewhere import make
from tensorflow.python.tpu import tpu_feed

def computation(*args):
    return args[0]

def build(a, b, more, shapes):
    shape = tf.TensorShape
    queue = tpu_feed.InfeedQueue(1)
    five, six = tf.zeros([5]), tf.zeros([6])
    tf.tpu.replicate(computation, [[a], [b]], queue, maximum_shapes=shapes)
    tf.tpu.replicate(computation, [[a], [b]], queue, maximum_shapes=[])
    tf.tpu.replicate(computation, more, maximum_shapes=[shape([4])])
    tf.tpu.replicate(computation, [], maximum_shapes=[shape([4])])
    rows = [[a, b]]
    for each in more:
        rows.append([each])
    tf.tpu.replicate(computation, rows, maximum_shapes=[shape([4])])
    rows = [[*more, five], [*more, six]]
    tf.tpu.replicate(computation, rows, maximum_shapes=[shape([8]), shape([4])])
    tf.tpu.replicate(computation, [[five], [six]], maximum_shapes=[*more, shape([4]), shape([8])])
    rows = [[[*more, five], six], [[*more, six], six]]
    nested = [[shape([8]), shape([4])], shape([8])]
    tf.tpu.replicate(computation, rows, maximum_shapes=nested)
    nested = [[*more, shape([4]), shape([4])], shape([8])]
    tf.tpu.replicate(computation, [[[a, b], a], [[b, a], b]], maximum_shapes=nested)
    rows = [[a, five], [b, six]]
    tf.tpu.replicate(computation, rows, maximum_shapes=[*more, shape([4])])
    tf.tpu.replicate(computation, rows, maximum_shapes=[*more, shape([4]), shape([8])])
    tf.tpu.replicate(computation, [[five], [a]], maximum_shapes=[shape([4])])
    tf.tpu.replicate(computation, [[five], [six], [a], [b]], maximum_shapes=[shape([4])])
    tf.tpu.replicate(computation, [[five], [six]], maximum_shapes=[shapes])
    tf.tpu.replicate(computation, [[[a, b]], [[b, a]]], maximum_shapes=[make(4)])
    told = tf.data.get_output_shapes(make())
    tf.tpu.replicate(computation, [[[a, b]], [[b, a]]], maximum_shapes=[told])
    tf.tpu.replicate(
        computation, [[tf.split(a, 2)], [[b, b]]], maximum_shapes=[[shape([4]), shape([4])]]
    )
    tf.tpu.replicate(computation, [[a, five], [b, six]], maximum_shapes=[[shape([4])], shape([8])])
    return tf.tpu.replicate(
        computation, [[{"x": a, **more}], [{"x": b, **more}]], maximum_shapes=[{"y": shape([8])}]
    )
""",
    "maximum shapes that hold all replicas": V1
    + """
def computation(*args):
    return args[0]

def build():
    shape = tf.TensorShape
    one, two = tf.zeros([1]), tf.zeros([2])
    six, seven = tf.zeros([6]), tf.zeros([7])
    tf.tpu.replicate(computation, [[one], [two]], maximum_shapes=[shape([1])])
    tf.tpu.replicate(
        computation,
        [[six], [seven]],
        maximum_shapes=[shape([5])],
        padding_spec=tf.tpu.PaddingSpec.POWER_OF_TWO,
    )
    tf.tpu.replicate(computation, [[None, six], [None, seven]], maximum_shapes=[None, shape([7])])
    tf.tpu.replicate(computation, [[six], [six]], maximum_shapes=[shape([4, 4])])
    rows = [[tf.zeros([6, 4])], [tf.zeros([7, 4])]]
    tf.tpu.replicate(computation, rows, maximum_shapes=[shape([8, 1])])
    rows = [[six], [tf.placeholder(tf.float32, [None])]]
    tf.tpu.replicate(computation, rows, maximum_shapes=[shape([4])])
    rows = [[{"x": six}], [{"x": seven}]]
    tf.tpu.replicate(computation, rows, maximum_shapes=[{"y": shape([8])}])
    return tf.tpu.replicate(computation, rows, maximum_shapes=[[shape([8])]])
""",
    "maximum shapes that one input of several does not fit": V1
    + """
def computation(*args):
    return args[0]

def build(a):
    shape = tf.TensorShape
    six, seven = tf.zeros([6]), tf.zeros([7])
    tf.tpu.replicate(
        computation, [[a, six], [a, seven]],
        maximum_shapes=[shape([4]), shape([4])],  # error: TPU404
    )
    tf.tpu.replicate(
        computation, [[None, six], [None, seven]],
        maximum_shapes=[shape([8]), shape([4])],  # error: TPU404
    )
    tf.tpu.replicate(
        computation, [[{"x": six}], [{"x": seven}]],
        maximum_shapes=[{"x": shape([4])}],  # error: TPU404
    )
    tf.tpu.replicate(
        computation, [[{"x": a}], [{"x": a}]],
        maximum_shapes=[{"x": shape([4]), "y": None}],  # error: TPU404
    )
    tf.tpu.replicate(
        computation, [[[a, a], a]] * 2,
        maximum_shapes=[shape([4]), shape([4])],  # error: TPU404
    )
    tf.tpu.replicate(computation, [[six], [seven]], maximum_shapes=[shape([5])])  # error: TPU404
    return tf.tpu.replicate(
        computation,
        [[six], [seven]],
        maximum_shapes=[shape([3])],  # error: TPU404
        padding_spec=tf.tpu.PaddingSpec.POWER_OF_TWO,
    )
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
    "padding where not all shapes are seen": V1
    + """
def computation(*args):
    return args[0]

def build(a, more):
    four = tf.zeros([4])
    spec = tf.tpu.PaddingSpec.POWER_OF_TWO
    shape = tf.TensorShape([4])
    rows = [[four], [four]]
    for each in more:
        rows.append([four])
    tf.tpu.replicate(computation, rows, maximum_shapes=[shape], padding_spec=spec)
    tf.tpu.replicate(computation, [], maximum_shapes=[shape], padding_spec=spec)
    tf.tpu.replicate(
        computation, [[four, a], [four, a]], maximum_shapes=[shape, shape], padding_spec=spec
    )
    row = [four]
    for each in more:
        row.append(four)
    tf.tpu.replicate(computation, [row, row], maximum_shapes=[shape, shape], padding_spec=spec)
    rows = [[{"x": four}], [{"x": a}]]
    tf.tpu.replicate(computation, rows, maximum_shapes=[{"x": shape}], padding_spec=spec)
    return tf.tpu.replicate(computation, [[a], [four]], padding_spec=spec)  # error: TPU409
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
def test_exactly_what_is_sure_is_an_error(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU4"]) == expected(text, ["TPU4"])
