"""The messages of TPU205, word for word, and the last steps of their traces."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import messages
from tests.rules.openings import REWRITTEN, V1

PROGRAM = (
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

strategy = tf.distribute.TPUStrategy()

@tf.function
def step(x):
    strategy.run(tf.cos(x))

tf.tpu.replicate(tf.sin(tf.zeros([4])), [[], []])
"""
    + REWRITTEN
)
# Of each finding, the message and the last step of its trace.
MESSAGES = [
    (
        "`sin` is called here, on the device, and only its result is passed to "
        "outside_compilation: pass `sin` itself, then its arguments",
        "",
    ),
    (
        "`record` is called here, on the device, and only its result is passed to "
        "outside_compilation: pass `record` itself, then its arguments",
        "",
    ),
    (
        "the function is called here, on the device, and only its result is passed to "
        "outside_compilation: pass the function itself, then its arguments",
        "",
    ),
    (
        "`cos` is called here before `run`, which gets only its result: pass "
        "`cos` itself, and its arguments as `args`",
        "",
    ),
    (
        "`sin` is called here before `replicate`, which gets only its result: pass `sin` "
        "itself, and its arguments as `inputs`",
        "",
    ),
]


def test_the_messages_and_the_ends_of_the_traces(tmp_path: Path) -> None:
    assert messages(PROGRAM, tmp_path, "TPU205") == MESSAGES
