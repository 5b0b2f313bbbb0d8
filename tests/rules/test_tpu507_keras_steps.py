"""TPU507: values that Keras' methods and random numbers need in a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import STRATEGY

FITTED = """
with strategy.scope():
    model = Net()
    model.compile("sgd", "mse")
model.fit(tf.data.TFRecordDataset("gs://bucket/x").batch(8, drop_remainder=True))
"""
RUN = """
@tf.function
def run():
    return strategy.run(step)

run()
"""
PROGRAMS = {
    "weights that are copied in the step": """
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.online = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        self.target = tf.keras.Sequential([tf.keras.layers.Dense(2)])

    def train_step(self, data):
        online = self.online.get_weights()  # error: TPU507
        self.target.set_weights(online)
        return super().train_step(data)

    def copy(self):
        self.target.set_weights(self.online.get_weights())
"""
    + FITTED,
    "the model's own weights, and those of something else": """
import library

class Agent:
    def get_weights(self):
        return [1.0]

agent = Agent()

class Net(tf.keras.Model):
    def train_step(self, data):
        scales = agent.get_weights() + library.agent().get_weights()
        weights = self.get_weights()  # error: TPU507
        return super().train_step(data)
"""
    + FITTED,
    "the loss of the default step": """
class Net(tf.keras.Model):
    def train_step(self, data):
        logs = super().train_step(data)
        print(logs["loss"].numpy())  # error: TPU507
        if float(logs["loss"]) > 3.0:  # error: TPU507
            raise ValueError
        return logs

    def test_step(self, data):
        logs = super().test_step(data)
        return {"loss": logs["loss"] * 2.0}
"""
    + FITTED,
    "seeds that are tensors": """
def step():
    replica = tf.distribute.get_replica_context().replica_id_in_sync_group
    one = tf.random.normal([2], seed=7 + replica)  # error: TPU507
    two = tf.nn.dropout(one, 0.5, seed=replica)  # error: TPU507
    three = tf.random.stateless_normal([2], seed=[7, replica])
    four = tf.random.normal([2], seed=7)
    return one + two + three + four
"""
    + RUN,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert reported(STRATEGY + text, tmp_path, ["TPU507"]) == expected(STRATEGY + text, ["TPU507"])
