"""TPU40x: what the call of an entry point certainly is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

PADDED = "padding_spec=tf.tpu.PaddingSpec.POWER_OF_TWO"

PROGRAMS = {
    "odd numbers of replicas, counted": V1
    + """
def build(x):
    tf.tpu.shard(tf.sin, [x], num_shards=3)  # error: TPU408
    tf.tpu.replicate(tf.sin, [[x], [x], [x]])  # error: TPU408
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
    "one replica, without inputs": V1
    + f"""
def build(f, shapes):
    tf.tpu.replicate(f, None, maximum_shapes=shapes, {PADDED})  # error: TPU409
""",
    "maximum shapes that are empty, and those that may not be": V1
    + f"""
def build(f, x, sizes):
    tf.tpu.replicate(f, [[x], [x]], maximum_shapes=[], {PADDED})  # error: TPU409
    tf.tpu.replicate(f, [[x], [x]], maximum_shapes=[*sizes], {PADDED})
    tf.tpu.replicate(f, [[x], [x]], maximum_shapes=[tf.TensorShape([5])], {PADDED})
    _, *shapes = sizes
    tf.tpu.replicate(f, [[x], [x]], maximum_shapes=shapes, {PADDED})
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
    "a padding that another function chooses": V1
    + """
from library import chosen_padding

def build(f, x):
    tf.tpu.replicate(f, [[x], [x]], padding_spec=chosen_padding())
""",
    "a rewrite of a library that is only named like TensorFlow's": """
from library import tpu

def computation(x, y):
    return x + y

def build(x):
    return tpu.rewrite(computation, [x])  # possible: TPU403
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_it_is_said_as_surely_as_it_is_known(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU"]) == expected(text, ["TPU"])
