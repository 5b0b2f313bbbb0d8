"""The messages of TPU301, word for word, and the last steps of their traces."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import messages
from tests.rules.openings import REWRITTEN, V1

PROGRAM = (
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
    + REWRITTEN
)
# Of each finding, the message and the last step of its trace.
MESSAGES = [
    (
        "`entered` enters this control-flow context on the host and never exits it: use `with`",
        "",
    ),
    (
        "`left` exits a control-flow context on the host that it never entered: use `with`",
        "",
    ),
]


def test_the_messages_and_the_ends_of_the_traces(tmp_path: Path) -> None:
    assert messages(PROGRAM, tmp_path, "TPU301") == MESSAGES
