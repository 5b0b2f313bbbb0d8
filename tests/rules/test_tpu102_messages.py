"""The messages of TPU102, word for word, and the last steps of their traces."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import messages
from tests.rules.openings import STRATEGY, TRAINED

PROGRAM = (
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
    + TRAINED
)
# Of each finding, the message and the last step of its trace.
MESSAGES = [
    (
        "`record` reads `total` on the host, but a variable of a TPUStrategy "
        "scope lives on the device, with one copy per replica; pass its "
        "value to `record` as an argument",
        "reads `total`",
    ),
    (
        "`record` writes `total` on the host, but a variable of a TPUStrategy "
        "scope lives on the device, with one copy per replica; return the "
        "value from there, and assign it on the device",
        "writes `total`",
    ),
]


def test_the_messages_and_the_ends_of_the_traces(tmp_path: Path) -> None:
    assert messages(PROGRAM, tmp_path, "TPU102") == MESSAGES
