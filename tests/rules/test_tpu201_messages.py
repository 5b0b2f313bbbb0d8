"""The messages of TPU201, word for word, and the last steps of their traces."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import messages
from tests.rules.openings import REWRITTEN, V1

PROGRAM = (
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
    + REWRITTEN
)
# Of each finding, the message and the last step of its trace.
MESSAGES = [
    (
        "`floor` is sent to the host from `inner`, which already runs on "
        "the host: TensorFlow refuses to nest outside_compilation; call it "
        "directly",
        "sends `floor` to the host once more",
    ),
    (
        "`sin` is sent to the host from the lambda, which already runs on "
        "the host: under tf.function the inner cluster takes its operations out "
        "of the outer one; call it directly",
        "sends `sin` to the host once more",
    ),
    (
        "`cos` is sent to the host from the lambda, which already runs on "
        "the host: TensorFlow refuses to nest outside_compilation; call it "
        "directly",
        "sends `cos` to the host once more",
    ),
]


def test_the_messages_and_the_ends_of_the_traces(tmp_path: Path) -> None:
    assert messages(PROGRAM, tmp_path, "TPU201") == MESSAGES
