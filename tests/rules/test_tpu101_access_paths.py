"""The ways to a variable: a deadlock must be found through each of them.

In each program the device updates the variable and waits for a cluster that touches the same one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

RUN = """
tf.tpu.rewrite(computation, [tf.zeros([])])
"""

PROGRAMS = {
    "a closure": V1
    + """
def build():
    total = tf.Variable(0.0)

    def host(x):
        return total.read_value()  # error: TPU101

    def computation(x):
        total.assign_add(x)
        with tf.control_dependencies([x * 1]):
            return x + tf.tpu.outside_compilation(host, x * 2.0)

    return tf.tpu.rewrite(computation, [tf.zeros([])])

build()
""",
    "an attribute of self": V1
    + """
class Meter:
    def __init__(self):
        self.total = tf.Variable(0.0)

    def host(self, x):
        return self.total.read_value()  # error: TPU101

    def computation(self, x):
        self.total.assign_add(x)
        with tf.control_dependencies([x * 1]):
            return x + tf.tpu.outside_compilation(self.host, x * 2.0)

tf.tpu.rewrite(Meter().computation, [tf.zeros([])])
""",
    "an alias": V1
    + """
total = tf.Variable(0.0)
seen = total

def host(x):
    return seen.read_value()  # error: TPU101

def computation(x):
    total.assign_add(x)
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
    "a dictionary with literal keys": V1
    + """
state = {"total": tf.Variable(0.0), "other": tf.Variable(0.0)}

def host(x):
    return state["total"].read_value()  # error: TPU101

def computation(x):
    state["total"].assign_add(x)
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
    "a list with literal indices": V1
    + """
state = [tf.Variable(0.0), tf.Variable(0.0)]

def host(x):
    return state[1].read_value()  # error: TPU101

def computation(x):
    state[1].assign_add(x)
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
    "getattr with a literal": V1
    + """
class State:
    pass

state = State()
state.total = tf.Variable(0.0)

def host(x):
    return getattr(state, "total").read_value()  # error: TPU101

def computation(x):
    state.total.assign_add(x)
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
    "an argument of outside_compilation": V1
    + """
total = tf.Variable(0.0)

def host(x, v):
    return x + v  # error: TPU101

def computation(x):
    total.assign_add(x)
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0, total)
"""
    + RUN,
    "a Keras layer that owns it": V1
    + """
layer = tf.keras.layers.Dense(4)
layer.build([None, 4])

def host(x):
    return layer.kernel.read_value()  # error: TPU101

def computation(x):
    layer.kernel.assign_add(x)
    with tf.control_dependencies([x * 1]):
        return tf.tpu.outside_compilation(host, x * 2.0) + layer(x)

tf.tpu.rewrite(computation, [tf.zeros([4, 4])])
""",
    "a queue": V1
    + """
queue = tf.queue.FIFOQueue(8, [tf.float32])

def host(x):
    return queue.dequeue()  # error: TPU101

def computation(x):
    queue.enqueue(x)
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
    "a table": V1
    + """
table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, -1, -2)

def host(key):
    return table.lookup(key)  # error: TPU101

def computation(key):
    table.insert(key, key)
    with tf.control_dependencies([key * 1]):
        return tf.tpu.outside_compilation(host, key * 2) + 1

tf.tpu.rewrite(computation, [tf.zeros([], tf.int64)])
""",
    "the global step": V1
    + """
def host(x):
    return tf.train.get_global_step() + 1  # error: TPU105

def computation(x):
    tf.assign_add(tf.train.get_or_create_global_step(), 1)
    with tf.control_dependencies([x * 1]):
        return x + tf.cast(tf.tpu.outside_compilation(host, x * 2.0), tf.float32)
"""
    + RUN,
    "the global step, counted by minimize": V1
    + """
weight = tf.Variable(1.0)

def host(x):
    return tf.train.get_global_step() + 1  # error: TPU105

def computation(x):
    loss = tf.square(weight * x)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(loss, global_step=step)
    with tf.control_dependencies([train]):
        return loss + tf.cast(tf.tpu.outside_compilation(host, x * 2.0), tf.float32)
"""
    + RUN,
    "optimizer.iterations": V1
    + """
weight = tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD(0.1)

def host(x):
    return tf.cast(optimizer.iterations, tf.float32)  # error: TPU105

def computation(x):
    optimizer.apply_gradients([(x, weight)])
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(host, x * 2.0)
"""
    + RUN,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_deadlock_is_found_through_the_path(program: str, tmp_path: Path) -> None:
    assert reported(program, tmp_path, ["TPU1"]) == expected(program, ["TPU1"])
