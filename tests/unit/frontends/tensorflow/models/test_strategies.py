"""The step of another strategy is read only where it may open host clusters."""

from __future__ import annotations

from tests.unit.reading import program

STEP = """
import tensorflow as tf

def step(x):
    return tf.nn.relu(x)

def train():
    strategy = tf.distribute.MirroredStrategy()
    strategy.run(step, args=(tf.constant(1.0),))

train()
"""
CLUSTER = """
def logged(x):
    tf.compat.v1.tpu.outside_compilation(print, x)
"""


def paths(text: str) -> list[str]:
    return [call.path for call in program(text).calls]


def test_the_step_of_another_strategy_is_no_tpus() -> None:
    assert "tensorflow.distribute.MirroredStrategy" in paths(STEP)
    assert "tensorflow.nn.relu" not in paths(STEP)


def test_it_is_read_where_the_program_names_host_clusters() -> None:
    assert "tensorflow.nn.relu" in paths(STEP + CLUSTER)


def test_the_step_of_a_tpu_strategy_is_read() -> None:
    (computation,) = program(STEP.replace("Mirrored", "TPU")).computations
    assert "tensorflow.nn.relu" in [call.path for call in computation.calls]
