"""The messages of TPU2xx and TPU3xx, word for word, and the ends of their traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program
from tests.rules.openings import V1

REWRITTEN = "\ntf.tpu.rewrite(computation, [tf.zeros([4])])\n"
REPLICATED = "\ntf.tpu.replicate(computation, [[tf.zeros([4])], [tf.ones([4])]])\n"

# The rule, a program, and each finding: its message, and the last step of its explanation.
SAID = {
    "TPU201": (
        V1
        + """
def inner(x):
    return tf.tpu.outside_compilation(tf.floor, x)

def computation(x):
    return tf.tpu.outside_compilation(inner, x * 2.0)

def step(x):
    return tf.tpu.outside_compilation(lambda v: tf.tpu.outside_compilation(tf.sin, v), x * 2.0)

@tf.function
def train(x):
    return tf.distribute.experimental.TPUStrategy().run(step, args=(x,))

def in_a_library(x):
    return tf.tpu.outside_compilation(lambda v: tf.tpu.outside_compilation(tf.cos, v), x)
"""
        + REWRITTEN,
        [
            (
                "`floor` is sent to the host from `inner`, which runs on the host "
                "already: TensorFlow refuses to nest outside_compilation",
                "sends `floor` to the host once more",
            ),
            (
                "`sin` is sent to the host from the lambda, which runs on the host "
                "already: under tf.function the inner cluster takes its operations out "
                "of the outer one",
                "sends `sin` to the host once more",
            ),
            (
                "`cos` is sent to the host from the lambda, which runs on the host "
                "already: TensorFlow refuses to nest outside_compilation",
                "sends `cos` to the host once more",
            ),
        ],
    ),
    "TPU204": (
        V1
        + """
class Guard:
    on = False

    def on_host(self, function, *args):
        if not self.on:
            self.on = True
            result = tf.tpu.outside_compilation(function, *args)
            self.on = False
            return result
        return function(*args)

def counted(function, *args):
    context = tf.get_default_graph()._get_control_flow_context()
    if context._outside_compilation_counter:
        return function(*args)
    return tf.tpu.outside_compilation(function, *args)
""",
        [
            (
                "`self.on` stays set if the host function raises: reset it in a "
                "`finally`, or the next trace opens no clusters",
                "",
            ),
            (
                "`_outside_compilation_counter` never shrinks, so after the first cluster this "
                "always says that one is open: test `_outside_compilation_cluster` instead",
                "",
            ),
        ],
    ),
    "TPU205": (
        V1
        + """
def scaled(x):
    return lambda v: v * x

def computation(x):
    tf.tpu.outside_compilation(tf.sin(x))
    record = lambda value: value * 2.0
    tf.tpu.outside_compilation(record(x))
    tf.tpu.outside_compilation(scaled(x)(x))
    return x
"""
        + REWRITTEN,
        [
            (
                "`sin` is called here, on the device, and its result passed to "
                "outside_compilation: pass `sin` itself, then its arguments",
                "",
            ),
            (
                "`record` is called here, on the device, and its result passed to "
                "outside_compilation: pass `record` itself, then its arguments",
                "",
            ),
            (
                "the function is called here, on the device, and its result passed to "
                "outside_compilation: pass the function itself, then its arguments",
                "",
            ),
        ],
    ),
    "TPU206": (
        V1
        + """
def computation(x):
    with tf.GradientTape() as tape:
        y = x * 2.0
        z = tf.tpu.outside_compilation(tf.sin, y)
    return tape.gradient(z, [y])[0] + tf.gradients(z, [y])[0]
"""
        + REWRITTEN,
        [
            (
                "the gradient of `sin`, which runs on the host, is compiled for the "
                "device: a GradientTape never places gradients with their operations",
                "takes the gradient through it",
            ),
            (
                "the gradient of `sin`, which runs on the host, is compiled for the "
                "device: pass colocate_gradients_with_ops=True",
                "takes the gradient through it",
            ),
        ],
    ),
    "TPU301": (
        V1
        + """
def entered(value):
    tf.control_dependencies(None).__enter__()
    return value

def left(value):
    tf.control_dependencies(None).__exit__(None, None, None)
    return value

def computation(x):
    y = tf.tpu.outside_compilation(entered, x * 2.0)
    return tf.tpu.outside_compilation(left, y * 2.0)
"""
        + REWRITTEN,
        [
            (
                "this control-flow context is entered in the host cluster but not exited",
                "",
            ),
            (
                "this control-flow context is exited in the host cluster but not entered",
                "",
            ),
        ],
    ),
    "TPU306": (
        V1
        + """
def computation(x):
    first = tf.equal(tf.distribute.get_replica_context().replica_id_in_sync_group, 0)
    y = tf.cond(first, lambda: tf.tpu.cross_replica_sum(x), lambda: x)
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.tpu.cross_replica_sum(y), lambda: y)
"""
        + REPLICATED,
        [
            (
                "only some replicas reach `cross_replica_sum`: the condition depends on "
                "the replica id",
                "`cross_replica_sum` waits for every replica",
            ),
            (
                "only some replicas reach `cross_replica_sum`: the condition depends on "
                "the replica's own data",
                "`cross_replica_sum` waits for every replica",
            ),
        ],
    ),
}


@pytest.mark.parametrize("code", SAID)
def test_what_is_said(code: str, tmp_path: Path) -> None:
    text, said = SAID[code]
    found = [each for each in findings(program(text), tmp_path) if each.code == code]
    assert [(each.message, each.trace[-1].message if each.trace else "") for each in found] == said


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        (["strategy.run(step, args=(x,))", "tpu.rewrite(step, [x])", "tpu.shard(step, [x])"], 1),
        (["strategy.run(step, args=(x,))", "strategy.experimental_run_v2(step, args=(x,))"], 0),
    ],
    ids=["the first of the sure ones", "the first of those that are not"],
)
def test_of_several_ways_to_one_place_one_is_told(
    calls: list[str], told: int, tmp_path: Path
) -> None:
    text = f"""
import tensorflow as tf

strategy = tf.distribute.get_strategy()
tpu = tf.compat.v1.tpu

def step(x):
    return tpu.rewrite(tf.sin, [x])

@tf.function
def train(x):
    {"; ".join(calls)}
"""
    (found,) = [each for each in findings(program(text), tmp_path) if each.code == "TPU202"]
    name = calls[told].partition("(")[0].rpartition(".")[2]
    assert f"inside the one that `{name}` builds" in found.message
