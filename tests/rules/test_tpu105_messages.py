"""The messages of TPU105, word for word, and the last steps of their traces."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import messages
from tests.rules.openings import REWRITTEN, V1

PROGRAM = (
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
    + REWRITTEN
)
# Of each finding, the message and the last step of its trace.
MESSAGES = [
    (
        "`show` reads the step `global_step` on the host, but the device "
        "program increments it: the value may belong to another step; pass it to the host "
        "as a tensor",
        "reads `global_step`, unseen by the device",
    ),
    (
        "`scaled` reads the step `global_step` on the host, while the device "
        "program increments it and waits for `scaled`: deadlock; pass the step to "
        "the host as a tensor",
        "waits for `global_step`, which the device program holds",
    ),
]


def test_the_messages_and_the_ends_of_the_traces(tmp_path: Path) -> None:
    assert messages(PROGRAM, tmp_path, "TPU105") == MESSAGES
