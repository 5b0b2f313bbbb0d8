"""TPU203 in the places where no computation is around a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, findings, program
from tests.rules.openings import V1

# Places in which a cluster has no effect; the key is a part of the message.
ALONE = {
    "at module level": V1
    + """
tf.tpu.outside_compilation(tf.sin, tf.zeros([4]))  # error: TPU203
""",
    "here": V1
    + """
def show(x):
    tf.tpu.outside_compilation(tf.sin, x)  # error: TPU203

show(tf.zeros([4]))
""",
    "in a function of an input pipeline": V1
    + """
def read():
    decode = lambda x: tf.tpu.outside_compilation(tf.sin, x)  # error: TPU203
    return tf.data.Dataset.range(4).map(decode)
""",
    "in a step of a strategy that is not a TPU's": V1
    + """
strategy = tf.distribute.MirroredStrategy()

def step(x):
    tf.tpu.outside_compilation(tf.sin, x)  # error: TPU203

def train(x):
    with tf.device("/cpu:0"):
        strategy.run(step, args=(x,))
""",
}
SILENT = {
    "in a function that nothing calls": V1
    + """
def show(x):
    with tf.device("/cpu:0"):
        tf.tpu.outside_compilation(tf.sin, x)
""",
    "in the function of another that does nothing": V1
    + """
def inner(x):
    return tf.tpu.outside_compilation(tf.sin, x)  # possible: TPU201

tf.tpu.outside_compilation(inner, tf.zeros([4]))  # error: TPU203
""",
}


@pytest.mark.parametrize("place", ALONE)
def test_the_message_says_where_the_cluster_has_no_effect(place: str, tmp_path: Path) -> None:
    assert_marked(ALONE[place], tmp_path)
    (finding,) = findings(program(ALONE[place]), tmp_path)
    assert f"has no effect {place}:" in finding.message


def test_so_it_is_in_what_another_strategys_extension_calls(tmp_path: Path) -> None:
    text = ALONE["in a step of a strategy that is not a TPU's"]
    text = text.replace("strategy.run(", "strategy.extended.call_for_each_replica(")
    assert_marked(text + "\ntrain(tf.zeros([4]))\n", tmp_path)


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_a_cluster_that_may_have_an_effect_is_silent(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
