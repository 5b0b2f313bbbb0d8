"""Faults in a computation that may be no TPU's: which of them are certain all the same.

A mark in a program is what its rule says, and how sure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, certainties

MODEL_FN = """
import tensorflow.compat.v1 as tf

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    {body}
"""
SPEC = "return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=loss)"
PROGRAMS = {
    # A false positive in TF-Agents: a helper for tensors of each kind is given a dense one.
    "what only sparse tensors get to": """
import tensorflow as tf

def reshaped(t, shape):
    if isinstance(t, tf.SparseTensor):
        return tf.sparse.reshape(t, shape)
    if isinstance(t, (tf.RaggedTensor, tf.compat.v1.SparseTensorValue)):
        return tf.py_function(list, [t], tf.float32)
    return tf.py_function(abs, [t], tf.float32)  # error: TPU501

tf.compat.v1.tpu.rewrite(lambda x: reshaped(x, [-1]), [tf.zeros([2, 2])])
""",
    # A false positive in Keras Core: nobody sees what is given to the helper.
    "what only sparse tensors get to, of values that are not seen": """
import tensorflow as tf
import library

def reshaped(t, shape):
    if isinstance(t, tf.SparseTensor):
        return tf.sparse.reshape(t, shape)
    if library.is_wide(t):
        return tf.sparse.reshape(t, shape)  # possible: TPU501
    return tf.reshape(t, shape)

def wide(x):
    return library.wide(x) if library.is_wide(x) else tf.cast(x, tf.float32)

tf.compat.v1.tpu.rewrite(lambda x: reshaped(wide(x), [-1]), [tf.zeros([2, 2])])
""",
    # A false positive in TF-GAN: `add_summaries` is never set on a TPU.
    "what only arguments that are not seen switch on": """
import tensorflow.compat.v1 as tf
from options import options

def loss_of(x, add_summaries=False, check=True, name=None):
    if add_summaries:
        tf.py_func(str, [x], [])
    if check:
        tf.py_func(print, [x], [])  # error: TPU501
    if name:
        tf.py_func(repr, [x], [])  # possible: TPU501
    return x

def computation(x):
    return loss_of(x, **options)

tf.tpu.rewrite(computation, [tf.zeros([])])
""",
    # A missed alarm: where no estimator was seen, nothing was certain.
    "on each way to a TPUEstimatorSpec": MODEL_FN.format(
        body=f"loss += tf.py_func(abs, [loss], tf.float32)  # error: TPU501\n    {SPEC}"
    ),
    "on the way to one of two": MODEL_FN.format(
        body="if mode == tf.estimator.ModeKeys.PREDICT:\n"
        "        return tf.estimator.tpu.TPUEstimatorSpec(mode, predictions=loss)\n"
        f"    loss += tf.py_func(abs, [loss], tf.float32)  # error: TPU501\n    {SPEC}"
    ),
    "by an option that no way to it needs": MODEL_FN.format(
        body='if params["debug"]:\n'
        f"        loss += tf.py_func(abs, [loss], tf.float32)  # possible: TPU501\n    {SPEC}"
    ),
    "under the option that leads to it": MODEL_FN.format(
        body='if params["accelerated"]:\n'
        f"        loss += tf.py_func(abs, [loss], tf.float32)  # error: TPU501\n        {SPEC}\n"
        "    loss += tf.py_func(abs, [labels], tf.float32)  # possible: TPU501\n"
        "    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=loss)"
    ),
    # A false alarm: what a GPU alone is given was taken for a TPU's.
    "under a flag for GPUs": MODEL_FN.format(
        body='if tf.flags.FLAGS.use_gpu and params["gpus"] > 1:\n'
        "        loss += tf.py_func(abs, [loss], tf.float32)\n"
        f"    {SPEC}"
    ),
    "in a step that calls the `tpu` module": """
import tensorflow as tf

def train(strategy, rows):
    def step(x):
        tf.py_function(print, [x], [])  # error: TPU501
        return tf.compat.v1.tpu.cross_replica_sum(x)
    return strategy.run(step, args=(rows,))
""",
    "in a step that calls it under an option": """
import tensorflow as tf

def train(strategy, rows, summed):
    def step(x):
        tf.py_function(print, [x], [])  # error: TPU501
        if summed:
            return tf.compat.v1.tpu.cross_replica_sum(x)
        else:
            tf.py_function(print, [x + 1.0], [])  # possible: TPU501
            return x
    return strategy.run(step, args=(rows,))
""",
    "in a step that is any strategy's": """
import tensorflow as tf

def train(strategy, rows):
    def step(x):
        tf.py_function(print, [x], [])  # possible: TPU501
        return x
    return strategy.run(step, args=(rows,))
""",
    "in a step that any strategy traces": """
import tensorflow as tf

def train(strategy, rows):
    @tf.function
    def step(x):
        scale = tf.Variable(2.0)  # error: TPU104
        total = tf.reduce_sum(x) * scale
        print("total", total)  # error: TPU506
        return total.numpy()  # error: TPU507
    return strategy.run(step, args=(rows,))
""",
    "in a step that a tf.function may trace": """
import tensorflow as tf

def train(strategy, rows):
    def step(x):
        scale = tf.Variable(2.0)  # possible: TPU104
        total = tf.reduce_sum(x) * scale
        print("total", total)  # possible: TPU506
        return total.numpy()  # possible: TPU507
    return strategy.run(step, args=(rows,))
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)


KINDS = """
import library
import tensorflow as tf

class Base: pass
class Shape(Base): pass
class Other: pass

strategy = tf.distribute.TPUStrategy()

def step(x):
    shape = Shape()
    if isinstance({value}, {kinds}):
        tf.py_function(abs, [x], tf.float32)
    return x

tf.function(lambda x: strategy.run(step, args=(x,)))(tf.zeros([8]))
"""


@pytest.mark.parametrize(
    ("value", "kinds", "certainty"),
    [
        ("shape", "Shape", ["definite"]),
        ("shape", "(Other, Base)", ["definite"]),
        ("shape", "Other", []),
        ("tf.abs(x)", "(list, tuple)", []),
        ("tf.abs(x)", "dict", []),
        ("3", "(int, Shape)", ["definite"]),
        ("x", "(dict, library.Other)", ["possible"]),
        ("x", "library.Other", ["possible"]),
        ("tf.abs(x)", "(dict, library.Other)", ["possible"]),
        ("x", "tf.Tensor", ["definite"]),
    ],
)
def test_what_a_value_is_an_instance_of(
    value: str, kinds: str, certainty: list[str], tmp_path: Path
) -> None:
    text = KINDS.replace("{value}", value).replace("{kinds}", kinds)
    assert certainties(text, tmp_path, "TPU501") == certainty
