"""The messages of TPU306, word for word, and the last steps of their traces."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import messages
from tests.rules.openings import REPLICATED, V1

PROGRAM = (
    V1
    + """
def computation(x):
    first = tf.equal(tf.distribute.get_replica_context().replica_id_in_sync_group, 0)
    y = tf.cond(first, lambda: tf.tpu.cross_replica_sum(x), lambda: x)
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.tpu.cross_replica_sum(y), lambda: y)
"""
    + REPLICATED
)
# Of each finding, the message and the last step of its trace.
MESSAGES = [
    (
        "only some replicas reach `cross_replica_sum`: the condition depends on the replica id; "
        "call it on all replicas, and choose between values with `tf.where`",
        "`cross_replica_sum` waits for every replica",
    ),
    (
        "only some replicas reach `cross_replica_sum`: the condition depends on "
        "the replica's own data; call it on all replicas, and choose between values with "
        "`tf.where` (unless this data is the same on all replicas)",
        "`cross_replica_sum` waits for every replica",
    ),
]


def test_the_messages_and_the_ends_of_the_traces(tmp_path: Path) -> None:
    assert messages(PROGRAM, tmp_path, "TPU306") == MESSAGES
