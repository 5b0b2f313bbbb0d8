"""The steps of the findings on control flow: real lines, in the order in which they happen."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import findings, program

TEXT = """\
import tensorflow.compat.v1 as tf


def build(x, y):
    kept = []

    def summed(x):
        kept.append(x * 2.0)
        return tf.tpu.cross_replica_sum(x)

    def computation(x):
        with tf.init_scope():
            tf.tpu.outside_compilation(lambda: tf.constant(1.0))
        y = tf.cond(x > 0.0, lambda: summed(x), lambda: x)
        return y + kept[0]

    tf.tpu.replicate(computation, [[x], [y]])
    with tf.Session() as session:
        session.run(kept[0])
"""


def steps_of(code: str, folder: Path) -> list[str]:
    (actual,) = [finding for finding in findings(program(TEXT), folder) if finding.code == code]
    lines = TEXT.splitlines()
    return [lines[step.span.start.row - 1].strip() for step in actual.trace]


ENTRY = "tf.tpu.replicate(computation, [[x], [y]])"
COND = "y = tf.cond(x > 0.0, lambda: summed(x), lambda: x)"
MADE = "kept.append(x * 2.0)"


def test_the_trace_of_a_collective_shows_the_condition(tmp_path: Path) -> None:
    steps = steps_of("TPU306", tmp_path)
    assert steps[0] == ENTRY
    assert steps[-2:] == [COND, "return tf.tpu.cross_replica_sum(x)"]


def test_the_trace_of_an_escape_shows_where_it_was_made(tmp_path: Path) -> None:
    assert steps_of("TPU303", tmp_path) == [ENTRY, MADE, "return y + kept[0]"]


def test_the_trace_of_a_cleared_context_shows_its_clearing(tmp_path: Path) -> None:
    call = "tf.tpu.outside_compilation(lambda: tf.constant(1.0))"
    assert steps_of("TPU302", tmp_path) == [ENTRY, "with tf.init_scope():", call]


def test_the_trace_of_a_fetch_shows_where_it_was_made(tmp_path: Path) -> None:
    steps = steps_of("TPU406", tmp_path)
    assert steps[0] == ENTRY
    assert steps[-1] == MADE
