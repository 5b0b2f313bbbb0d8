"""The messages of TPU103, word for word, and the last steps of their traces."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import messages
from tests.rules.openings import REWRITTEN, V1

PROGRAM = (
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
    + REWRITTEN
)
# Of each finding, the message and the last step of its trace.
MESSAGES = [
    (
        "`record` reads `total` on the host, but does not see what the device program writes;"
        " pass its value to `record` as an argument",
        "reads `total`, unseen by the device",
    ),
    (
        "`record` writes `total` on the host, but the device program does not see that;"
        " return the value from there, and assign it on the device",
        "writes `total`, unseen by the device",
    ),
]


def test_the_messages_and_the_ends_of_the_traces(tmp_path: Path) -> None:
    assert messages(PROGRAM, tmp_path, "TPU103") == MESSAGES
