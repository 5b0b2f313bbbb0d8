"""The messages of TPU204, word for word, and the last steps of their traces."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import messages
from tests.rules.openings import V1

PROGRAM = (
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
"""
)
# Of each finding, the message and the last step of its trace.
MESSAGES = [
    (
        "`self.on` stays set if the host function raises: reset it in a "
        "`finally`, or the next trace opens no clusters",
        "",
    ),
    (
        "`_outside_compilation_counter` is never decremented, so this guard stays set after "
        "the first cluster: test `_outside_compilation_cluster` instead",
        "",
    ),
]


def test_the_messages_and_the_ends_of_the_traces(tmp_path: Path) -> None:
    assert messages(PROGRAM, tmp_path, "TPU204") == MESSAGES
