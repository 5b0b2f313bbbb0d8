"""The messages of TPU1xx, word for word, and the ends of their traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program
from tests.rules.openings import STRATEGY, V1

REWRITTEN = "\ntf.tpu.rewrite(computation, [tf.zeros([4])])\n"
TRAINED = """
@tf.function
def train(x):
    strategy.run(step, args=(x,))

train(tf.zeros([8]))
"""

# The rule, a program, and each finding: its message, and the last step of its explanation.
SAID = {
    "TPU101": (
        V1
        + """
total = tf.get_variable("total", [], use_resource=True)

def counted(value):
    return value + total.assign_add(1.0)

def computation(x):
    total.assign_add(1.0)
    with tf.control_dependencies([x * 2.0]):
        y = tf.tpu.outside_compilation(counted, x * 2.0) + 1.0
        return tf.tpu.outside_compilation(lambda v: v * total, y * 2.0) + 1.0
"""
        + REWRITTEN,
        [
            (
                "`counted` writes `total` on the host, while the device program holds "
                "`total` and waits for `counted`: deadlock",
                "waits for `total`, which the device program holds",
            ),
            (
                "the lambda reads `total` on the host, while the device program holds "
                "`total` and waits for the lambda: deadlock",
                "waits for `total`, which the device program holds",
            ),
        ],
    ),
    "TPU102": (
        STRATEGY
        + """
with strategy.scope():
    total = tf.Variable(0.0)

def record(value):
    tf.print(total.read_value())
    total.assign(value)

def step(x):
    tf.compat.v1.tpu.outside_compilation(record, x * 2.0)
"""
        + TRAINED,
        [
            (
                "`record` reads `total` on the host, but that variable of a TPUStrategy "
                "scope lives on the device, with one copy per replica",
                "reads `total`",
            ),
            (
                "`record` writes `total` on the host, but that variable of a TPUStrategy "
                "scope lives on the device, with one copy per replica",
                "writes `total`",
            ),
        ],
    ),
    "TPU103": (
        V1
        + """
total = tf.get_variable("total", [], use_resource=True)

def record(value):
    tf.print(total.read_value())
    total.assign(value)

def computation(x):
    with tf.control_dependencies([x * 2.0]):
        tf.tpu.outside_compilation(record, x * 2.0)
    return x + total.assign_add(1.0)
"""
        + REWRITTEN,
        [
            (
                "`record` reads `total` on the host, and does not see what the device "
                "program writes",
                "reads `total`, unseen by the device",
            ),
            (
                "`record` writes `total` on the host, unseen by the device program that uses it",
                "writes `total`, unseen by the device",
            ),
        ],
    ),
    "TPU105": (
        V1
        + """
def show(value):
    tf.print(tf.train.get_global_step(), value)

def scaled(value):
    return value * tf.cast(tf.train.get_global_step(), tf.float32)

def computation(x):
    with tf.control_dependencies([x * 2.0]):
        tf.tpu.outside_compilation(show, x * 2.0)
    with tf.control_dependencies([tf.train.get_global_step().assign_add(1)]):
        return tf.tpu.outside_compilation(scaled, x * 2.0) + 1.0
"""
        + REWRITTEN,
        [
            (
                "`show` reads the step `global_step` on the host, which the device "
                "program increments: the value may be another step's",
                "reads `global_step`, unseen by the device",
            ),
            (
                "`scaled` reads the step `global_step` on the host, while the device "
                "program increments it and waits for `scaled`: deadlock",
                "waits for `global_step`, which the device program holds",
            ),
        ],
    ),
}


@pytest.mark.parametrize("code", SAID)
def test_what_is_said(code: str, tmp_path: Path) -> None:
    text, said = SAID[code]
    found = [each for each in findings(program(text), tmp_path) if each.code == code]
    assert [(each.message, each.trace[-1].message if each.trace else "") for each in found] == said
