"""Programs with TPU404, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "maximum shapes whose inputs are not seen": V1
    + """
def computation(x):
    return x

def build(x, y, shapes, queue):
    tf.tpu.replicate(computation, [[x], [y]], maximum_shapes=shapes)
    tf.tpu.replicate(computation, [[x], [y]], maximum_shapes=[tf.TensorShape([8])])
    rows = [[tf.placeholder(tf.float32)], [tf.placeholder(tf.float32)]]
    tf.tpu.replicate(computation, rows, maximum_shapes=[tf.TensorShape([8])])
    tf.tpu.replicate(computation, rows, maximum_shapes=[])
    return tf.tpu.replicate(computation, rows, None, None, None, None)
""",
    "maximum shapes that do not fit": V1
    + """
def computation(*args):
    return args[0]

def build():
    rows = [[tf.zeros([5, 2]), tf.zeros([3])], [tf.zeros([4, 2]), tf.zeros([3])]]
    shape = tf.TensorShape
    tf.tpu.replicate(
        computation, rows, maximum_shapes=[shape([4, 2]), shape([3])]  # error: TPU404
    )
    tf.tpu.replicate(computation, rows, maximum_shapes=[[8, 2], [8]])  # error: TPU404
    return tf.tpu.replicate(
        computation, rows, None, None, None, [shape([8]), shape([3])]  # error: TPU404
    )
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
    "shapes beside a queue": V1
    + """
from tensorflow.python.tpu import tpu_feed
from library import shapes_of

def build(f, x, sizes, feed):
    queue = tpu_feed.InfeedQueue(number_of_tuple_elements=1)
    perhaps = queue if feed else None
    shapes = [tf.TensorShape([5])]
    tf.tpu.replicate(f, [[x], [x]], queue, maximum_shapes=shapes)  # error: TPU404
    tf.tpu.replicate(f, [[x], [x]], perhaps, maximum_shapes=shapes)
    tf.tpu.replicate(f, [[x], [x]], queue, maximum_shapes=[*sizes])
    tf.tpu.replicate(f, [[x], [x]], queue, maximum_shapes=[])
    tf.tpu.replicate(f, [[x], [x]], queue, maximum_shapes={})
    tf.tpu.replicate(f, [[x], [x]], queue, maximum_shapes=shapes_of(x))
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
