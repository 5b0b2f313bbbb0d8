"""A step whose strategy another module gets from a helper: that module is read, too.

Nothing in its bytes names the seam but the strategy that it is handed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import reported

PROJECT = """
# file: strategies.py
import tensorflow as tf

def get_strategy(kind):
    if kind == "tpu":
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
        return tf.distribute.TPUStrategy(resolver)
    return tf.distribute.MirroredStrategy()

# file: trainer.py
import tensorflow as tf

class Trainer:
    def __init__(self, strategy=None):
        self.strategy = strategy or tf.distribute.get_strategy()

    @tf.function
    def train(self, x):
        def step(x):
            return tf.py_function(abs, [x], tf.float32)
        return self.strategy.run(step, args=(x,))

# file: main.py
import sys
import tensorflow as tf
import strategies
from trainer import Trainer

def main():
    {main}

if __name__ == "__main__":
    main()
"""
GETS = "strategy = strategies.get_strategy({})\n    "
MAINS = {
    GETS.format("sys.argv[1]") + "Trainer(strategy).train(tf.zeros([8]))": "definite",
    GETS.format("sys.argv[1]")
    + "with strategy.scope():\n        Trainer().train(tf.zeros([8]))": "definite",
    GETS.format("'mirrored'") + "Trainer(strategy).train(tf.zeros([8]))": "",
    "Trainer().train(tf.zeros([8]))": "possible",
}


@pytest.mark.parametrize("main", MAINS)
def test_the_caller_that_gets_the_strategy(main: str, tmp_path: Path) -> None:
    findings = reported(PROJECT.replace("{main}", main), tmp_path, ["TPU501"])
    expected = [("trainer.py", MAINS[main])] if MAINS[main] else []
    assert [(finding.filename, finding.certainty) for finding in findings] == expected


SETS_STRATEGY = """
# file: runtime.py
import tensorflow as tf

def connect(device):
    if device == "tpu":
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
        tf.distribute.experimental_set_strategy(tf.distribute.{made})

# file: learner.py
import tensorflow as tf

class Learner:
    def __init__(self, model):
        self.model = model
        self.strategy = tf.distribute.get_strategy()

    @tf.function
    def train(self, x):
        return self.strategy.run(lambda x: self.model(x), args=(x,))

# file: layers.py
import tensorflow as tf

class Count(tf.keras.layers.Layer):
    def call(self, x):
        return tf.strings.length(x)

# file: train.py
from layers import Count
from learner import Learner
from runtime import connect

connect("tpu")
Learner(Count()).train("text")
"""


@pytest.mark.parametrize(
    ("creation", "expected"), [("TPUStrategy(resolver)", ["layers.py"]), ("MirroredStrategy()", [])]
)
def test_the_callers_of_what_sets_the_strategy(
    creation: str, expected: list[str], tmp_path: Path
) -> None:
    """A library set its strategy for the process: 332 of its 425 files were read by no program."""
    findings = reported(SETS_STRATEGY.replace("{made}", creation), tmp_path, ["TPU501"])
    assert [finding.filename for finding in findings] == expected


CALLED_FOR_ANOTHER_DEVICE = """
# file: devices.py
import tensorflow as tf

def connect(tpu=""):
    if tpu:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    return tf.distribute.MirroredStrategy()

# file: tutorial.py
import devices

strategy = devices.connect()

# file: trainer.py
import tensorflow as tf

class Trainer:
    def __init__(self, strategy):
        self.strategy = strategy

    def run(self, function, *args):
        return self.strategy.run(function, args=args)

    @tf.function
    def train(self, x):
        return self.run(self.step, x)

    def step(self, x):
        return tf.py_function(abs, [x], tf.float32)

# file: main.py
import sys
import tensorflow as tf
import devices
import trainer

def main():
    strategy = devices.connect(tpu=sys.argv[1])
    trainer.Trainer(strategy).train(tf.zeros([8]))

if __name__ == "__main__":
    main()
"""


def test_a_caller_that_gets_the_tpu_beside_one_that_does_not(tmp_path: Path) -> None:
    """A tutorial called it without a TPU first, and no other caller was read."""
    found = reported(CALLED_FOR_ANOTHER_DEVICE, tmp_path, ["TPU501"])
    assert [(finding.filename, finding.certainty) for finding in found] == [
        ("trainer.py", "definite")
    ]


HANDS_DEVICE_ON = """
# file: a_tutorial.py
import tensorflow as tf
from trainer import Trainer

trainer = Trainer("mirrored")
trainer.train(tf.abs, tf.zeros([8]))
print(trainer.strategy.run(tf.abs, args=(tf.zeros([8]),)))

# file: devices.py
import tensorflow as tf

def strategy_for(kind):
    if kind == "tpu":
        return tf.distribute.TPUStrategy(
            tf.distribute.cluster_resolver.TPUClusterResolver.connect()
        )
    return tf.distribute.MirroredStrategy()

# file: trainer.py
import tensorflow as tf
from devices import strategy_for

class Trainer:
    def __init__(self, kind):
        self.strategy = strategy_for(kind)

    def train(self, step, x):
        @tf.function
        def run(x):
            return self.strategy.run(step, args=(x,))
        return run(x)

# file: main.py
import tensorflow as tf
from trainer import Trainer

def step(x):
    return tf.py_function(abs, [x], tf.float32)

Trainer("tpu").train(step, tf.zeros([8]))
"""


def test_a_caller_that_asks_a_constructor_for_the_tpu(tmp_path: Path) -> None:
    """The constructor only hands the name of the device on, and had been called for another."""
    found = reported(HANDS_DEVICE_ON, tmp_path, ["TPU501"])
    assert [(finding.filename, finding.certainty) for finding in found] == [("main.py", "definite")]


RUNS_ON_A_TPU = """
# file: a_tutorial.py
import tensorflow as tf

def run(kind):
    {chooses}
    return strategy.run(tf.abs, args=(tf.zeros([8]),))

run("gpu")

# file: test_case.py
import tensorflow as tf

class TestCase(tf.test.TestCase):
    def execute_tpu(self, compute, inputs):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)

        @tf.function
        def run():
            return strategy.run(compute, args=[tf.constant(value) for value in inputs])
        return run()

    def execute(self, compute, inputs):
        @tf.function
        def run():
            return compute(*inputs)
        if tf.config.list_logical_devices("TPU"):
            return self.execute_tpu(compute, inputs)
        return run()

# file: ops_test.py
import tensorflow as tf
import test_case

class EncodeTest(test_case.TestCase):
    def test_encode(self):
        def encode(image):
            return tf.image.encode_jpeg(image)
        self.assertEqual(self.execute(encode, [tf.zeros([4, 4, 3], tf.uint8)]), b"")
"""


@pytest.mark.parametrize(
    "chooses",
    [
        "strategy = tf.distribute.TPUStrategy()",
        "strategy = tf.distribute.TPUStrategy() if kind == 'tpu' else tf.distribute.get_strategy()",
    ],
)
def test_a_function_of_the_same_name_chooses_no_device(chooses: str, tmp_path: Path) -> None:
    """A false alarm: tests that may run on a TPU were read as if they did, 470 of one project."""
    text = RUNS_ON_A_TPU.format(chooses=chooses)
    assert reported(text, tmp_path, ["TPU501", "TPU711"]) == []


KEEPS_STRATEGY = """
# file: devices.py
import tensorflow as tf

def create(settings):
    if settings["mode"] == "tpu":
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(settings["name"])
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    return tf.distribute.MirroredStrategy()

# file: trainer.py
import tensorflow as tf
import devices

class Trainer:
    def __init__(self, settings):
        self.settings = settings
        self.strategy = devices.create(settings)

    def make(self):
        with self.strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Lambda(self.count)])
            model.compile("sgd", "mse")
        return model

    def count(self, x):
        return tf.py_function(abs, [x], tf.float32)

    def train(self, model):
        model.fit(tf.ones([8, 4]), tf.ones([8, 4]))

    def start(self):
        self.train(self.make())

# file: main.py
from trainer import Trainer

def main(settings):
    return Trainer(settings).start()
"""


def test_the_callers_of_an_object_that_keeps_the_strategy(tmp_path: Path) -> None:
    """Nothing said how its methods follow each other, so that no model was known to train."""
    found = reported(KEEPS_STRATEGY, tmp_path, ["TPU501"])
    assert [finding.filename for finding in found] == ["trainer.py"]


GETS_SCOPE = """
# file: devices.py
import tensorflow as tf

def scope_of(tpu):
    if tpu:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver).scope()
    return tf.distribute.MirroredStrategy().scope()

# file: main.py
import sys
import tensorflow as tf
from devices import scope_of

def layer(x):
    return tf.py_function(abs, [x], tf.float32)

with scope_of(sys.argv[1]):
    model = tf.keras.Sequential([tf.keras.layers.Lambda(layer)])
    model.compile("adam", "mse")
    model.fit(tf.ones([8, 4]), tf.ones([8, 4]))
"""


def test_missed_before_where_a_helper_gives_the_scope(tmp_path: Path) -> None:
    """A project for Kaggle keeps its strategy in the helper, and uses the scope alone."""
    found = reported(GETS_SCOPE, tmp_path, ["TPU501"])
    assert [finding.filename for finding in found] == ["main.py"]


RUNNERS = """
# file: trainer.py
import functools
import tensorflow.compat.v1 as tf

def create_estimator(model_fn, use_tpu):
    return tf.estimator.tpu.TPUEstimator(
        model_fn, config=tf.estimator.tpu.RunConfig(), train_batch_size=8, use_tpu=use_tpu
    )

def train(model_fn, data_fn, use_tpu):
    estimator = create_estimator(model_fn, use_tpu)
    estimator.train(functools.partial(data_fn, is_training=True))

# file: rows.py
import tensorflow.compat.v1 as tf

def read(params, is_training):
    return tf.data.TFRecordDataset("gs://bucket/rows").batch({batch})

def compute(features, labels, mode, params):
    return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_mean(features))

# file: run.py
import tensorflow.compat.v1 as tf
import rows
import trainer

def main(_):
    trainer.train(rows.compute, rows.read, use_tpu=True)

if __name__ == "__main__":
    tf.app.run(main)
"""


@pytest.mark.parametrize(("batch", "found"), [("8", ["TPU605"]), ("8, drop_remainder=True", [])])
def test_missed_before_where_a_caller_gives_a_part_of_the_input(
    batch: str, found: list[str], tmp_path: Path
) -> None:
    project = RUNNERS.replace("{batch}", batch)
    assert [item.code for item in reported(project, tmp_path, ["TPU605"])] == found
