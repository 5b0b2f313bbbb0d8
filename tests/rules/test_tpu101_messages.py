"""The messages of TPU101, word for word, and the last steps of their traces."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import messages
from tests.rules.openings import REWRITTEN, V1

PROGRAM = (
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
    + REWRITTEN
)
# Of each finding, the message and the last step of its trace.
MESSAGES = [
    (
        "`counted` writes `total` on the host, while the device program holds "
        "`total` and waits for `counted`: deadlock; return the value from there, "
        "and assign it on the device",
        "waits for `total`, which the device program holds",
    ),
    (
        "the lambda reads `total` on the host, while the device program holds "
        "`total` and waits for the lambda: deadlock; pass its value to the lambda "
        "as an argument",
        "waits for `total`, which the device program holds",
    ),
]


def test_the_messages_and_the_ends_of_the_traces(tmp_path: Path) -> None:
    assert messages(PROGRAM, tmp_path, "TPU101") == MESSAGES
