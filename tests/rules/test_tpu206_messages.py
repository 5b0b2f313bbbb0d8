"""The messages of TPU206, word for word, and the last steps of their traces."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import messages
from tests.rules.openings import REWRITTEN, V1

PROGRAM = (
    V1
    + """
def computation(x):
    with tf.GradientTape() as tape:
        y = x * 2.0
        z = tf.tpu.outside_compilation(tf.sin, y)
    return tape.gradient(z, [y])[0] + tf.gradients(z, [y])[0]
"""
    + REWRITTEN
)
# Of each finding, the message and the last step of its trace.
MESSAGES = [
    (
        "the gradient of `sin`, which runs on the host, is compiled for the "
        "device: call `tf.gradients`, as a GradientTape places no gradients",
        "takes the gradient through it",
    ),
    (
        "the gradient of `sin`, which runs on the host, is compiled for the "
        "device: pass colocate_gradients_with_ops=True",
        "takes the gradient through it",
    ),
]


def test_the_messages_and_the_ends_of_the_traces(tmp_path: Path) -> None:
    assert messages(PROGRAM, tmp_path, "TPU206") == MESSAGES
