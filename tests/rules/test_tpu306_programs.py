"""Programs with TPU306, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import STRATEGY, TRAINED, V1

FIRST = """
def first_sums(x):
    context = tf.distribute.get_replica_context()
    first = tf.equal(context.replica_id_in_sync_group, 0)
    return tf.cond(first, lambda: context.all_reduce("sum", x), lambda: x)  # {mark}: TPU306
"""
REPLICATED = "\ntf.tpu.replicate(computation, [[tf.zeros([4])], [tf.ones([4])]])\n"
# A step that may return early; {} are what it does first, and what the return has before it.
RETURNED = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)

def clipped(x):
    if tf.reduce_any(x > 1.0):
        return tf.ones_like(x)
    return x

def step(x):
    context = tf.distribute.get_replica_context()
    {first}
    return context.all_reduce("sum", x * 2.0)  {mark}

@tf.function
def run(x):
    return strategy.run(step, args=(x,))

run(strategy.experimental_distribute_values_from_function(
    lambda context: tf.fill([4], float(context.replica_id_in_sync_group))
))
"""
# What `run` is given here differs on the replicas, as no tensor of the host does.
FED = """
@tf.function
def train(x):
    strategy.run(step, args=(x,))

data = tf.data.Dataset.from_tensor_slices(tf.zeros([64])).batch(8, drop_remainder=True)
for batch in strategy.experimental_distribute_dataset(data):
    train(batch)
"""
PROGRAMS = {
    "after a return on the replica's own data": RETURNED.format(
        first="if tf.reduce_any(tf.math.is_nan(x)):\n        return x", mark="# possible: TPU306"
    ),
    "after a return of one replica": RETURNED.format(
        first="if context.replica_id_in_sync_group == 0:\n        return x",
        mark="# error: TPU306",
    ),
    "after a return on what all replicas have": RETURNED.format(
        first='if tf.reduce_any(context.all_reduce("sum", x) > 1.0):\n        return x', mark=""
    ),
    "after a return with a collective of its own": RETURNED.format(
        first='if tf.reduce_any(x > 1.0):\n        return context.all_reduce("sum", x)'
        "  # possible: TPU306",
        mark="",
    ),
    "after a helper that may return early": RETURNED.format(first="x = clipped(x)", mark=""),
    "after a branch that returns nothing": RETURNED.format(
        first="if tf.reduce_any(x > 1.0):\n        x = x / 2.0", mark=""
    ),
    "after a return on what tracing knows": RETURNED.format(
        first="if x.shape[0] == 3:\n        return x", mark=""
    ),
    "what a training loop makes of the replica's own data": """
import tensorflow.compat.v1 as tf
from tensorflow.python.tpu import training_loop

def computation(x):
    end = training_loop.repeat(2, lambda total: total + x, [tf.constant(0.0)])
    return tf.cond(
        end > 0.0,
        lambda: tf.tpu.cross_replica_sum(x),  # possible: TPU306
        lambda: x,
    )

tf.tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(-1.0)]])
""",
    "the condition has gone through a collective": V1
    + """
def computation(x):
    total = tf.tpu.cross_replica_sum(x)
    large = tf.logical_and(total > 1.0, tf.cast(total, tf.int32) < 8)
    return tf.cond(large, lambda: tf.tpu.cross_replica_sum(x * 2.0), lambda: x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "a Python condition": STRATEGY
    + """
class Trainer:
    def __init__(self, sync):
        self.sync = sync

    def step(self, x):
        context = tf.distribute.get_replica_context()
        if self.sync and context.num_replicas_in_sync > 1:
            x = context.all_reduce("MEAN", x)
        return x

    @tf.function
    def train(self, batch):
        return strategy.run(self.step, args=(batch,))
""",
    "the body decides how long the loop goes on": V1
    + """
def computation(x):
    def body(going, value):
        total = tf.tpu.cross_replica_sum(value)  # possible: TPU306
        return tf.reduce_sum(value) > 1.0, total
    return tf.while_loop(lambda going, value: going, body, [tf.constant(True), x])

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "a loop over the list that a tensor is split into": STRATEGY
    + """
def step(x):
    context = tf.distribute.get_replica_context()
    for part in tf.split(x, 4):
        context.all_reduce("SUM", part)
    for part in x:
        context.all_reduce("SUM", part)  # possible: TPU306
    return x
"""
    + FED,
    "the replica id, computed with, around a nested condition": STRATEGY
    + """
@tf.function
def train(batch):
    def step(x):
        context = tf.distribute.get_replica_context()
        shard = tf.cast(context.replica_id_in_sync_group, tf.int32) % 2
        def inner():
            total = lambda: context.all_reduce("SUM", x)  # error: TPU306
            return tf.cond(x > 0.0, total, lambda: x)
        return tf.switch_case(shard, [inner, lambda: x])
    return strategy.run(step, args=(batch,))
""",
    "the first replica sums": STRATEGY
    + FIRST.replace("{mark}", "error")
    + """
def step(x):
    return first_sums(x)
"""
    + TRAINED,
    "the first replica sums, if this function is meant": STRATEGY
    + FIRST.replace("{mark}", "possible")
    + """
import sys

def step(x):
    return {"first": first_sums, "sin": tf.sin}[sys.argv[1]](x)
"""
    + TRAINED,
    "the first replica sums, or all do, in a branch": STRATEGY
    + """
import sys

def step(x):
    context = tf.distribute.get_replica_context()
    first = tf.equal(context.replica_id_in_sync_group, 0)
    chosen = first if len(sys.argv) > 1 else tf.constant(True)

    def chosen_sum():
        return tf.cond(chosen, lambda: context.all_reduce("sum", x), lambda: x)  # possible: TPU306

    return tf.cond(tf.reduce_sum(x) > 0.0, chosen_sum, lambda: x)
"""
    + TRAINED,
    "a variable decides, and then the replica's data": V1
    + """
flag = tf.get_variable("flag", [], tf.bool, use_resource=True)

def computation(x):
    def positive_sum():
        more = tf.reduce_sum(x) > 0.0
        return tf.cond(more, lambda: tf.tpu.cross_replica_sum(x), lambda: x)  # possible: TPU306

    return tf.cond(flag, positive_sum, lambda: x)
"""
    + REPLICATED,
    "gradients that Keras sums, as it is told to": STRATEGY
    + """
with strategy.scope():
    optimizer = tf.keras.optimizers.SGD(0.1)
    kernel = tf.Variable(1.0)

def step(x):
    def update():
        pairs = [(x, kernel)]
        optimizer.apply_gradients(pairs, experimental_aggregate_gradients=True)  # possible: TPU306
        return x

    tf.cond(tf.reduce_sum(x) > 0.0, update, lambda: x)
"""
    + FED,
    "an optimizer's class is asked": V1
    + """
def computation(x, optimizer):
    update = lambda: tf.train.Optimizer.minimize(optimizer, x)
    return tf.cond(tf.reduce_sum(x) > 0.0, update, tf.no_op)

def build(x, optimizer):
    return tf.tpu.replicate(lambda v: computation(v, optimizer), [[x], [x]])
""",
    "false alarm: shards of what is filled with one value are equal": V1
    + """
def computation(x, training):
    training = tf.squeeze(training)
    return tf.cond(training, lambda: tf.tpu.cross_replica_sum(x), lambda: x)

def build(x):
    training = tf.identity(tf.fill([8], tf.placeholder(tf.bool, [])))
    return tf.tpu.shard(computation, [x, training], 8)
""",
    "missed alarm: shards of a range differ": V1
    + """
def computation(x, number):
    first = tf.equal(tf.squeeze(number), 0)
    return tf.cond(first, lambda: tf.tpu.cross_replica_sum(x), lambda: x)  # possible: TPU306

def build(x):
    return tf.tpu.shard(computation, [x, tf.range(8)], 8)
""",
    "false alarm: replicas have shapes alike": V1
    + """
def computation(x):
    def body(step, total):
        return step + 1, total + tf.tpu.cross_replica_sum(tf.gather(x, step))

    steps = tf.shape(tf.squeeze(x, 0))[0]
    return tf.while_loop(lambda step, total: step < steps, body, [0, 0.0])

def build(x):
    return tf.tpu.shard(computation, [x], 8)
""",
    "a last batch of a strategy may be smaller on some replicas": STRATEGY
    + """
def step(x):
    context = tf.distribute.get_replica_context()
    full = tf.equal(tf.shape(x)[0], 8)
    tf.cond(full, lambda: context.all_reduce("sum", x), lambda: x)  # possible: TPU306
"""
    + FED,
    "false alarm: TPU305 at a collective that TPU306 reports": STRATEGY
    + """
import library

@tf.function
def train(batch):
    def total(x):
        return tf.distribute.get_replica_context().all_reduce("sum", x)  # possible: TPU306
    def step(x):
        tf.cond(tf.cast(library.flag(), tf.bool), lambda: total(x), lambda: x)
        return tf.cond(tf.reduce_any(x > 0.0), lambda: total(x), lambda: x)
    return strategy.run(step, args=(batch,))
""",
    "the host waits for no replica": V1
    + """
optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())

def on_host(value):
    return tf.cond(tf.reduce_sum(value) > 0.0, lambda: optimizer.minimize(value), tf.no_op)

def computation(x):
    tf.tpu.outside_compilation(on_host, x * 2.0)
    return x
"""
    + REPLICATED,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
