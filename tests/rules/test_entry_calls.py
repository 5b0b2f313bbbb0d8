"""The arguments of the replicate family: numbers of inputs, names, cores and outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

PROGRAMS = {
    "queues that say how much they feed": V1
    + """
from tensorflow.python.tpu import tpu_feed

def two(a, b):
    return a + b

def build(a):
    by_position = tpu_feed.InfeedQueue(2)
    by_types = tpu_feed.InfeedQueue(tuple_types=[tf.float32, tf.float32])
    by_types_alone = tpu_feed.InfeedQueue(None, [tf.float32, tf.float32])
    fitting = tpu_feed.InfeedQueue(1)
    tf.tpu.shard(two, [a], num_shards=2, infeed_queue=by_position)  # error: TPU403
    tf.tpu.shard(two, [a], num_shards=2, infeed_queue=by_types)  # error: TPU403
    tf.tpu.shard(two, [a], num_shards=2, infeed_queue=by_types_alone)  # error: TPU403
    return tf.tpu.shard(two, [a], num_shards=2, infeed_queue=fitting)
""",
    "queues and inputs of which the number is not seen": V1
    + """
import queue
from tensorflow.python.tpu import tpu_feed

def two(a, b):
    return a + b

def build(a, more, number, types):
    unsized = tpu_feed.InfeedQueue()
    computed = tpu_feed.InfeedQueue(number)
    untyped = tpu_feed.InfeedQueue(tuple_types=types)
    longer = tpu_feed.InfeedQueue(tuple_types=[tf.float32, tf.float32, *more])
    written = tpu_feed.InfeedQueue("2")
    tf.tpu.rewrite(two, [a], infeed_queue=unsized)
    tf.tpu.rewrite(two, [a], infeed_queue=computed)
    tf.tpu.rewrite(two, [a], infeed_queue=untyped)
    tf.tpu.rewrite(two, [a], infeed_queue=longer)
    tf.tpu.rewrite(two, [a], infeed_queue=written)
    tf.tpu.rewrite(two, [a], infeed_queue=queue.Queue(3))
    tf.tpu.rewrite(two, [a], infeed_queue=tf.queue.FIFOQueue(3, [tf.float32]))
    tf.tpu.rewrite(two, [a, b, *more])
    tf.tpu.rewrite(two, [a, *more])
    tf.tpu.rewrite(*more, inputs=[a])
    tf.tpu.rewrite(inputs=[a])
    tf.tpu.replicate(two, None)  # error: TPU403
    rows = [[a]]
    for each in more:
        rows.append([each])
    return tf.tpu.replicate(two, rows)
""",
    "partial functions that fit, and methods that never do": V1
    + """
import functools

def decorated(fn):
    return register(fn)

@decorated
def wrapped(a, b):
    return a

def two(a, b):
    return a + b

def scaled(a, *, scale):
    return a * scale

def many(a, *others):
    return a

class Model:
    def step(self, x):
        return x

    def steps(self, *xs):
        return xs[0]

def build(a, flag):
    model = Model()
    tf.tpu.rewrite(functools.partial(two, b=1.0), [a])
    tf.tpu.rewrite(functools.partial(scaled, scale=2.0), [a])
    tf.tpu.rewrite(functools.partial(wrapped, 1.0), [a, a, a])
    tf.tpu.rewrite(functools.partial(make(3), 1.0), [a, a, a])
    tf.tpu.rewrite(functools.partial(many, 1.0), [a, a, a])
    tf.tpu.rewrite(model.steps, [a, a])
    tf.tpu.rewrite(functools.partial(model.step), [a])  # error: TPU403
    tf.tpu.rewrite(functools.partial(model.step, 1.0), [])  # error: TPU403
    tf.tpu.rewrite(functools.partial(scaled, 1.0), [a])  # error: TPU403
    return tf.tpu.rewrite(two if flag else many, [a])  # possible: TPU403
""",
    "functions that are only called like TensorFlow's": """
import tensorflow.compat.v1 as tf

def pair(x):
    return tf.group(x), x * 2.0  # possible: TPU407

def on_core(x):
    with tf.device(tf.tpu.core(1)):
        return x

def build(tpu, x):
    tpu.replicate(pair, ([x],), name="a")  # possible: TPU401, TPU405
    tpu.replicate(lambda: 1.0, [[x], [x, x]])  # possible: TPU402, TPU403
    tpu.rewrite(on_core, [x])  # possible: TPU408
    tpu.shard(lambda x: x, [x], num_shards=3)  # possible: TPU408
    spec = tf.tpu.PaddingSpec.AUTO
    return tpu.replicate(lambda x: x, [[x]], padding_spec=spec)  # possible: TPU409
""",
    "cores of the host, and cores that are not seen": V1
    + """
def on_host(x):
    with tf.device(tf.tpu.core(1)):
        return x

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0) + 1.0

def on_core(x, place, number=None):
    with tf.device(tf.tpu.core(*place)):
        x = x * 2.0
    with tf.device(tf.tpu.core(number)):
        return x * 2.0

def build(x, place):
    tf.tpu.rewrite(computation, [x])
    return tf.tpu.rewrite(lambda value: on_core(value, place), [x])
""",
    "cores beside the host, and replicas that may not be built": V1
    + """
import sys

def computation(x):
    with tf.device(tf.tpu.core(1)):
        x = x * 2.0
    return tf.tpu.outside_compilation(tf.math.log, x) + 1.0

def sharded(x, number):
    return tf.tpu.shard(lambda value: value, [x], num_shards=number)  # possible: TPU408

def plain(x, number):
    return x

def build(x):
    tf.tpu.rewrite(computation, [x])  # possible: TPU408
    return (sharded if len(sys.argv) > 1 else plain)(x, 3)
""",
    "outputs with operations in a tf.function": V1
    + """
def nested(x):
    return x, [tf.group(x)]

@tf.function
def step(x):
    return tf.tpu.rewrite(nested, [x])

step(tf.zeros([2]))
""",
    "operations in a dict, and in a list that is put together": V1
    + """
def named(x):
    return {"x": x, "done": tf.group(x)}  # error: TPU407

def joined(x):
    first = [tf.group(x)]
    return first + [x * 2.0]  # error: TPU407

def build(x):
    tf.tpu.rewrite(named, [x])
    return tf.tpu.rewrite(joined, [x])
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_what_is_sure_is_an_error(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU4"]) == expected(text, ["TPU4"])
