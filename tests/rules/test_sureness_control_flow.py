"""TPU3xx: what decides that it is said, and with what certainty."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import STRATEGY, V1

REWRITTEN = "\ntf.tpu.rewrite(computation, [tf.zeros([4])])\n"
CONTEXTS = V1 + "from tensorflow.python.ops import control_flow_ops\n\n"
TRAINED = """
@tf.function
def train(x):
    strategy.run(step, args=(x,))

train(tf.zeros([8]))
"""

PROGRAMS = {
    "a context of the device, which a host cluster leaves alone": CONTEXTS
    + """
def computation(x):
    control_flow_ops.XLAControlFlowContext().Enter()
    tf.tpu.outside_compilation(tf.print, x * 2.0)
    return x
"""
    + REWRITTEN,
    "a context of a tf.function of the host": CONTEXTS
    + """
@tf.function
def on_host(value):
    control_flow_ops.XLAControlFlowContext().Enter()
    return value

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)
"""
    + REWRITTEN,
    "a context in a host function that may be meant": CONTEXTS
    + """
import sys

def on_host(value):
    control_flow_ops.XLAControlFlowContext().Enter()  # possible: TPU301
    return value

def sent(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)

def computation(x):
    return {"sent": sent, "sin": tf.sin}[sys.argv[1]](x)
"""
    + REWRITTEN,
    "scopes that the host function enters and keeps": V1
    + """
def on_host(value):
    lifted = tf.init_scope()
    lifted.__enter__()
    after = tf.control_dependencies([value])
    after.__enter__()
    return value * 2.0

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)
"""
    + REWRITTEN,
    "dependencies that the host function leaves": V1
    + """
def on_host(value):
    after = tf.control_dependencies([value])
    after.__exit__(None, None, None)
    return value * 2.0

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)
"""
    + REWRITTEN,
    "a stack that is closed leaves all that it holds": V1
    + """
import contextlib

def on_host(value):
    stack = contextlib.ExitStack()
    stack.enter_context(tf.control_dependencies(None))
    stack.enter_context(tf.control_dependencies(None))
    result = tf.math.log(value)
    stack.close()
    return result

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)
"""
    + REWRITTEN,
    "a spec where the context is cleared: its host_call runs after the step": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    kept = [tf.reshape(loss, [1])]
    with tf.control_dependencies(None):
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode, loss=loss, host_call=(lambda each: tf.summary.scalar("loss", each[0]), kept)
        )

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=8, config=tf.estimator.tpu.RunConfig()
)
""",
    "cleared in a run that may be no TPU's": """
import tensorflow as tf

def step(x):
    with tf.control_dependencies(None):
        return tf.compat.v1.tpu.outside_compilation(tf.sin, x * 2.0)  # possible: TPU302

@tf.function
def train(x):
    tf.distribute.get_strategy().run(step, args=(x,))

train(tf.zeros([8]))
""",
    "a branch in a Python loop, that has ended too": V1
    + """
def computation(x):
    kept = []
    for scale in (1.0, 2.0):
        def branch():
            kept.append(x * scale)
            return x
        x = tf.cond(tf.reduce_sum(x) > 0.0, branch, lambda: x)
    return kept[0] + x  # error: TPU303
"""
    + REWRITTEN,
    "an attribute that Python's own if sets again": STRATEGY
    + """
class State:
    pass

def step(x):
    state = State()
    state.last = x
    if tf.reduce_sum(x) > 0.0:
        state.last = x * 2.0
    return state.last + 1.0
"""
    + TRAINED,
    "given to a function that is not seen: it may take no tensor": V1
    + """
from library import show

def computation(x):
    kept = []

    def branch():
        kept.append(x * 2.0)
        return x

    y = tf.cond(tf.reduce_sum(x) > 0.0, branch, lambda: x)
    show(kept[0])  # possible: TPU303
    return y
"""
    + REWRITTEN,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_it_is_said_as_surely_as_it_is_known(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU"]) == expected(text, ["TPU"])
