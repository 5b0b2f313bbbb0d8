"""Queues and structures that are filled in a loop, and taken outside it (TPU303)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked

HEAD = """
import tensorflow.compat.v1 as tf
from tensorflow.python.data.util import nest
from tensorflow.python.tpu import tpu_feed

class Runner:
    def __init__(self):
        self.structure = {}
        self.queues = []
"""
PROGRAMS = {
    # False alarms: only the keys of the structure are taken, and a queue is no tensor.
    "a structure that is packed, and a queue": """
    def fill(self, iterator):
        def body(i):
            self.structure["features"] = iterator.get_next() * 2.0
            queue = tpu_feed._PartitionedInfeedQueue(self.structure["features"])
            self.queues.append(queue)
            return i + 1
        tf.while_loop(lambda i: i < 8, body, [tf.constant(0)])

    def step(self):
        values = self.queues[0].generate_dequeue_op(tpu_device=0)
        tf.nest.assert_same_structure(self.structure, values)
        return nest.pack_sequence_as(self.structure, values)["features"] * 2.0
""",
    "a tensor of the structure": """
    def fill(self, iterator):
        def body(i):
            self.structure["features"] = tf.cast(i, tf.float32) * 2.0
            return i + 1
        tf.while_loop(lambda i: i < 8, body, [tf.constant(0)])

    def step(self):
        flat = [self.structure["features"]]
        return nest.pack_sequence_as(self.structure, flat)["features"] * 2.0  # error: TPU303
""",
}
END = """
def build(iterator):
    def computation():
        runner = Runner()
        runner.fill(iterator)
        return runner.step()
    return tf.tpu.rewrite(computation)
"""


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(HEAD + text + END, tmp_path)
