"""Switches to eager execution: the steps that they affect, and the certainty of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, findings, program, reported
from tests.rules.openings import SYSTEM

MODEL = (
    SYSTEM
    + """
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""
)
STEP = """
@tf.function
def train(x):
    return strategy.run(lambda y: y, args=(x,))

"""
IMPORTS = """
import sys

import tensorflow as tf
"""
IN_BRANCH = """
if sys.argv[1] == "tpu":
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
"""
PROGRAMS = {
    "by position, and run by another method": MODEL
    + """
model.compile("sgd", "mse", None, None, None, True)  # error: TPU706
model.predict_on_batch(tf.ones([8, 3]))
""",
    "compiled anew": MODEL
    + """
model.compile("sgd", "mse", run_eagerly=True)
model.compile("sgd", "mse")
model.fit(tf.ones([8, 3]))
""",
    "a missed alarm: compiled anew after a step": MODEL
    + """
model.compile("sgd", "mse", run_eagerly=True)  # error: TPU706
model.fit(tf.ones([8, 3]))
model.compile("sgd", "mse")
model.fit(tf.ones([8, 3]))
""",
    "a missed alarm: compiled anew before a step": MODEL
    + """
model.compile("sgd", "mse")
model.fit(tf.ones([8, 3]))
model.compile("sgd", "mse", run_eagerly=True)  # error: TPU706
model.fit(tf.ones([8, 3]))
""",
    "a missed alarm: the model may be what another package makes": MODEL
    + """
import library

model = library.read() if hasattr(library, "read") else model
tf.config.run_functions_eagerly(True)  # possible: TPU706
model.fit(tf.ones([8, 3]))
""",
    "asked for by a test": MODEL
    + """
import library

if library.debugs():
    model.compile("sgd", "mse", run_eagerly=True)
    tf.config.run_functions_eagerly(True)
model.fit(tf.ones([8, 3]))
""",
    "a model of no TPU's": SYSTEM
    + """
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", run_eagerly=True)
model.fit(tf.ones([8, 3]))
with tf.distribute.MirroredStrategy().scope():
    other = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    other.compile("sgd", "mse", run_eagerly=True)
other.fit(tf.ones([8, 3]))
""",
    "the older name, before `fit` and before a step": MODEL
    + STEP
    + """
tf.config.experimental_run_functions_eagerly(True)  # error: TPU706
model.compile("sgd", "mse")
model.fit(tf.ones([8, 3]))
train(tf.ones([4]))
""",
    "after the steps": SYSTEM
    + STEP
    + """
train(tf.ones([4]))
tf.config.run_functions_eagerly(True)
""",
    "in the same branch as the step": SYSTEM
    + STEP
    + """
import library

if library.trains():
    tf.config.run_functions_eagerly(True)  # error: TPU706
    train(tf.ones([4]))
""",
    "in the branch that makes the strategy": IMPORTS
    + IN_BRANCH
    + """    tf.config.run_functions_eagerly(True)  # error: TPU706
    strategy = tf.distribute.TPUStrategy(resolver)
else:
    strategy = tf.distribute.MirroredStrategy()
"""
    + STEP
    + "train(tf.ones([8]))\n",
    "in the branch for other devices": IMPORTS
    + IN_BRANCH
    + """    strategy = tf.distribute.TPUStrategy(resolver)
else:
    tf.config.run_functions_eagerly(True)
    strategy = tf.distribute.MirroredStrategy()
"""
    + STEP
    + "train(tf.ones([8]))\n",
    "under a flag before the branch that makes the strategy": IMPORTS
    + """if "debug" in sys.argv:
    tf.config.run_functions_eagerly(True)
"""
    + IN_BRANCH
    + """    strategy = tf.distribute.TPUStrategy(resolver)
else:
    strategy = tf.distribute.MirroredStrategy()
"""
    + STEP
    + "train(tf.ones([8]))\n",
    "methods of others that have the name": SYSTEM
    + STEP
    + """
import library

library.run_functions_eagerly(True)
train(tf.ones([4]))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_reported_where_a_step_follows(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    assert reported(text, tmp_path, ["TPU706"]) == expected(text, ["TPU706"])


def test_the_step_is_named(tmp_path: Path) -> None:
    text = (
        SYSTEM + STEP + "def main():\n    tf.config.run_functions_eagerly(True)\n    train(1.0)\n\n"
        "main()\n"
    )
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU706"
    ]
    assert actual.message == (
        "`run_functions_eagerly(True)` removes the tf.function around `run`: a"
        " TPUStrategy cannot run a step eagerly; remove it"
    )
    assert [step.message for step in actual.trace] == [
        "turns on eager execution",
        "calls `train`",
        "`run` runs its step eagerly",
    ]
    width = actual.span.end.column - actual.span.start.column
    assert width == len("tf.config.run_functions_eagerly(True)")
