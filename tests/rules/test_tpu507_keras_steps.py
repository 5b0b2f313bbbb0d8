"""TPU507: values that Keras' methods and random numbers need in a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import STRATEGY, SYSTEM

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
    "a missed alarm: checkpoints and models that the step saves": """
model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
checkpoint = tf.train.Checkpoint(model=model)
manager = tf.train.CheckpointManager(checkpoint, "gs://bucket/model", max_to_keep=2)

def step():
    checkpoint.save("gs://bucket/model/one")  # error: TPU507
    manager.save()  # error: TPU507
    model.save_weights("gs://bucket/model/weights")  # error: TPU507
    tf.py_function(manager.save, [], tf.string)
    return tf.ones([])
"""
    + RUN
    + """
manager.save()
model.save("gs://bucket/model/all")
""",
    "what saves itself": """
class Log:
    def save(self):
        return 1

class Net(tf.keras.Model):
    def save(self, path):
        return path

log, net = Log(), Net()

def step():
    log.save()
    net.save("gs://bucket/net")
    return tf.ones([])
"""
    + RUN,
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
    # Missed alarms: what `result` and `gradient` give are tensors, too.
    "the result of a metric": """
with strategy.scope():
    mean = tf.keras.metrics.Mean()

def step():
    mean.update_state(1.0)
    print(mean.result().numpy())  # error: TPU507
    if mean.result() > 5.0:
        return mean.result() * 2.0
    return mean.result()
"""
    + RUN
    + """
print(mean.result().numpy())
""",
    "gradients": """
class Net(tf.keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x))
        gradients = tape.gradient(loss, self.trainable_variables)
        for gradient, variable in zip(gradients, self.trainable_variables):
            if gradient is not None:
                print(float(tf.norm(gradient)))  # error: TPU507
        names = [len(variable.name) for variable in self.trainable_variables]
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss, "longest": max(names)}
"""
    + FITTED,
    "functions of a model of another library": """
import transformers

class Loss(tf.keras.losses.Loss):
    def call(self, labels, outputs):
        loss = tf.square(labels - outputs)
        print(loss.numpy())  # error: TPU507
        return loss

with strategy.scope():
    model = transformers.TFBertModel.from_pretrained("bert-base-uncased")
    model.compile(optimizer="adam", loss=Loss())
model.fit(tf.data.TFRecordDataset("gs://bucket/x").batch(8, drop_remainder=True))
""",
    "what a model of another library gives": """
import transformers

with strategy.scope():
    model = transformers.TFBertModel.from_pretrained("bert-base-uncased")

def step():
    outputs = model(tf.ones([2, 8], tf.int32), training=True)
    print(outputs.loss.numpy())  # error: TPU507
    return outputs.loss
"""
    + RUN,
    # A missed alarm: the fields are not seen, but the class sets them itself.
    "a model that a dataclass makes of its settings": """
import sys
from dataclasses import InitVar, dataclass
from pydantic.dataclasses import dataclass as checked

class Net(tf.keras.Model):
    def call(self, x):
        print(tf.reduce_max(x).numpy())  # error: TPU507
        return x

class Other(tf.keras.Model):
    def call(self, x):
        print(tf.reduce_min(x).numpy())  # error: TPU507
        return x

@dataclass
class Config:
    net: InitVar[str] = ""

    def __post_init__(self, net):
        self.net = Net()

@checked
class CheckedConfig:
    net: InitVar[str] = ""

    def __post_init_post_parse__(self, net):
        self.net = Other()

options = dict(pair.split("=") for pair in sys.argv[1:])
with strategy.scope():
    model = Config(**options).net
    model.compile("sgd", "mse")
    other = CheckedConfig(**options).net
    other.compile("sgd", "mse")
model.fit(tf.data.TFRecordDataset("gs://bucket/x").batch(8, drop_remainder=True))
other.fit(tf.data.TFRecordDataset("gs://bucket/x").batch(8, drop_remainder=True))
""",
    "what is compiled by another library, and is no model": """
import re
import library

def loss(labels, outputs):
    return tf.square(labels - outputs).numpy()

with strategy.scope():
    query = library.Query("x")
    query.compile(loss)
    pattern = re.compile("x")
query.fit(tf.data.TFRecordDataset("gs://bucket/x").batch(8, drop_remainder=True))
""",
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
    "an item of a list or a dict that a tensor says": """
weights = {number: 1.0 / (number + 1) for number in range(5)}
names = ["a", "b"]

def step():
    label = tf.random.uniform([], maxval=2, dtype=tf.int32)
    weight = weights[label]  # error: TPU507
    name = names[tf.argmax([label, 1])]  # error: TPU507
    known = weights[int(len(names))], names[label.shape.rank], tf.constant([1.0, 2.0])[label]
    return weight, name, known, library.table[label]
"""
    + RUN,
    "functions of other packages, which compute with arrays": """
import cv2
import scipy.special
import sklearn
from sklearn.metrics import f1_score

def step():
    x = tf.random.normal([2])
    score = f1_score([0, 1], tf.argmax(x))  # error: TPU507
    smooth = scipy.special.expit(x)  # error: TPU507
    blurred = cv2.GaussianBlur(src=x, ksize=(3, 3))  # error: TPU507
    fixed = scipy.special.expit([1.0]), cv2.imread("gs://a"), sklearn.set_config(x is None)
    return library.f1_score(x), score, smooth, blurred, fixed
"""
    + RUN,
    "what losses and metrics get of a model with one output": """
from sklearn.metrics import mean_squared_error

def rmse(labels, outputs):
    return mean_squared_error(labels, outputs) ** 0.5  # error: TPU507

def clipped(labels, outputs):
    error = tf.square(labels - outputs)
    return tf.clip_by_value(error, 0, tf.keras.backend.get_value(error))  # error: TPU507

with strategy.scope():
    words = tf.keras.Input([8])
    model = tf.keras.Model(inputs=[words], outputs=[tf.keras.layers.Dense(1)(words)])
    model.compile("sgd", loss={"output": clipped}, metrics={"output": rmse})
data = tf.data.Dataset.from_tensor_slices((tf.zeros([8, 8]), (tf.zeros([8, 1]), tf.ones([8, 1]))))
model.fit(data.batch(8, drop_remainder=True))
""",
    "what losses get of a model with two outputs": """
def total(labels, outputs):
    return sum(float(output.shape[0]) for output in outputs)

with strategy.scope():
    words = tf.keras.Input([8])
    outputs = [tf.keras.layers.Dense(1)(words), tf.keras.layers.Dense(2)(words)]
    model = tf.keras.Model(inputs=[words], outputs=outputs)
    model.compile("sgd", loss=total)
model.fit(tf.zeros([8, 8]), [tf.zeros([8, 1]), tf.zeros([8, 2])])
""",
    "functions in a model of a linear one and a deep one": """
import math

def gelu(x):
    return x * (1.0 + math.erf(x / math.sqrt(2.0)))  # error: TPU507

with strategy.scope():
    words = tf.keras.Input([8])
    deep = tf.keras.Model(words, tf.keras.layers.Dense(1, activation=gelu)(words))
    model = tf.keras.experimental.WideDeepModel(tf.keras.experimental.LinearModel(), deep)
model.compile("sgd", "mse")
model.fit(tf.data.TFRecordDataset("gs://bucket/x").batch(8, drop_remainder=True))
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert reported(STRATEGY + text, tmp_path, ["TPU507"]) == expected(STRATEGY + text, ["TPU507"])


LAYER = (
    SYSTEM
    + """
class Gate(tf.keras.layers.Layer):
    def call(self, x, training=False):
        if training and x.shape[-1] == 4:
            x = x + 1.0
        if tf.reduce_mean(x) > 0.0:  # MARK
            x = x * 2.0
        for part in tf.unstack(x):
            x = x + part
        for index in tf.range(3):  # MARK
            x = x + tf.cast(index, tf.float32)
        while tf.reduce_sum(x) < 4.0:  # MARK
            x = x * 2.0
        y = x if tf.reduce_sum(x) > 1.0 else -x  # MARK
        return self.traced(y) * float(tf.reduce_sum(x))  # MARK

    @tf.function
    def traced(self, x):
        if tf.reduce_mean(x) > 0.0:
            x = x * 2.0
        return x

with strategy.scope():
    gate = Gate()

def step(x):
    x = gate(x)
    if tf.reduce_mean(x) > 0.0:
        x = x * float(tf.reduce_sum(x))
    return x

@tf.function
def run(x):
    return strategy.run(step, args=(x,))

run(tf.ones([4, 4]))
"""
)


# A missed alarm: only Keras 2 converts `call`; autograph leaves the package `keras` as it is.
@pytest.mark.parametrize(
    ("requirement", "mark"),
    [
        ("tensorflow>=2.16", "error: TPU507"),
        ("tensorflow>=2.10", "possible: TPU507"),
        ("tensorflow==2.15.*", "what Keras 2 converts"),
    ],
)
def test_tests_of_tensors_in_call(requirement: str, mark: str, tmp_path: Path) -> None:
    """Which Keras runs a layer decides what becomes of the tests in its `call`."""
    text = f"# file: requirements.txt\n{requirement}\n# file: main.py\n{LAYER}"
    text = text.replace("MARK", mark)
    assert reported(text, tmp_path, ["TPU507"]) == expected(text, ["TPU507"])


def test_tests_of_tensors_in_call_of_tf_keras(tmp_path: Path) -> None:
    """The package `tf_keras` is Keras 2, and a class of no Keras is converted like the rest."""
    for base in ("tf_keras.layers.Layer", "tf.Module"):
        text = f"import tf_keras\n{LAYER}".replace("tf.keras.layers.Layer", base)
        assert reported(text, tmp_path, ["TPU507"]) == []
