"""Takers of a tensor that must not leave its branch, and their certainty (TPU303).

A function or an object that is not seen may just keep it, or look at its shape.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import V1

ESCAPES = """
import sys
import library
import numpy as np

def host(v):
    return v

log = library.Log()
layer = tf.keras.layers.Dense(4)
metric = tf.keras.metrics.Mean()
rows = tf.data.Dataset.range(4)
total = tf.get_variable("total", [])

def computation(x):
    kept = []

    def branch():
        kept.append(tf.sin(x))
        return x

    x = tf.cond(tf.reduce_sum(x) > 0.0, branch, lambda: x)
    made = kept[0]
    {taker}
    return x

tf.tpu.rewrite(computation, [tf.zeros([8, 4])])
"""

TAKERS = {
    "an operator": ("x = made + 1.0", "definite"),
    "an operator on the right": ("x = 1.0 - made", "definite"),
    "a comparison": ("x = made > 1.0", "definite"),
    "a sign": ("x = -made", "definite"),
    "an item": ("x = made[0]", "definite"),
    "an operation": ("x = tf.square(made)", "definite"),
    "an operation, in a list": ("x = tf.stack([x, made])", "definite"),
    "an operation, in a list in a dict": ("x = tf.tuple({'a': [made]})", "definite"),
    "an operation on one tensor or another": (
        "x = tf.square(made if len(sys.argv) > 1 else x)",
        "",
    ),
    "an operation under a guess": ("x = tf.unheard_of(lambda: tf.square(made))", "possible"),
    "an operation that gives no tensor": ("x = tf.group(made)", "definite"),
    "a gradient that stops": ("x = tf.stop_gradient(made)", "definite"),
    "a literal": ("x = tf.zeros_like(made)", "definite"),
    "a method of a tensor": ("x = made.eval()", "definite"),
    "a method of another tensor": ("x = (x * 2.0).__add__(made)", "definite"),
    "the shape": ("x = made.shape, made.dtype, made.get_shape(), made.set_shape([1])", ""),
    "a condition": ("x = tf.cond(made > 0.0, lambda: x, lambda: x)", "definite"),
    "a branch": ("x = tf.cond(x[0, 0] > 0.0, lambda: made + 1.0, lambda: x)", "definite"),
    "a loop": ("x = tf.while_loop(lambda v: v < 9.0, lambda v: v + 1.0, [made])", "definite"),
    "the test of a loop": ("x = tf.while_loop(lambda v: v < made, lambda v: v, [x])", "definite"),
    "a map": ("x = tf.map_fn(lambda v: v + 1.0, made)", "definite"),
    "a map's function": ("x = tf.map_fn(lambda v: v + made, x)", "definite"),
    "a control dependency": (
        "with tf.control_dependencies([made]):\n        x = x * 2.0",
        "definite",
    ),
    "a host function": ("x = tf.tpu.outside_compilation(host, made)", "definite"),
    "a layer": ("x = layer(made)", "definite"),
    "a layer, by its method": ("x = layer.call(made)", "definite"),
    "a metric": ("metric.update_state(made)", "definite"),
    "a variable": ("total.assign(made)", "definite"),
    "a variable's first value": ("tf.get_variable('v', initializer=made)", "definite"),
    "a variable, by a function": ("tf.assign(total, made)", "definite"),
    "an optimizer": ("tf.train.AdamOptimizer().minimize(made)", "definite"),
    "an optimizer that is not seen": ("library.optimizer().minimize(made)", "possible"),
    "the rate of an optimizer": ("tf.train.AdamOptimizer(made).minimize(x)", "definite"),
    "the rate of an optimizer in another": (
        "library.Wrapper(tf.train.AdamOptimizer(made)).minimize(x)",
        "definite",
    ),
    "all replicas": ("x = tf.tpu.cross_replica_sum(made)", "definite"),
    "a pipeline": ("rows.batch(made)", "definite"),
    "a function that is not seen": ("library.log(made)", "possible"),
    "an object that is not seen": ("library.Log(made)", "possible"),
    "an object of TensorFlow's that may keep it": ("tf.train.Example(made)", "possible"),
    "a method of an object that is not seen": ("log.write(made)", "possible"),
    "what a function that is not seen makes of it": ("x = library.scale(made) + 1.0", "possible"),
    "nobody: a list": ("x = [made]", ""),
    "nobody: a test of what it is": ("x = x if made is None else x + 1.0", ""),
    "nobody: its length is looked at by Python": ("print(len(kept), isinstance(made, int))", ""),
}


@pytest.mark.parametrize("name", TAKERS)
def test_it_is_as_certain_as_the_taker(name: str, tmp_path: Path) -> None:
    taker, certainty = TAKERS[name]
    text = V1 + ESCAPES.replace("{taker}", taker)
    actual = set(certainties(text, tmp_path, "TPU303"))
    assert min(actual, default="") == certainty  # "definite" comes first
