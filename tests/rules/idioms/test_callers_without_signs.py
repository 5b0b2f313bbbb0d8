"""Callers that show no sign of a TPU: a module that they import builds what runs there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

FAMILIES = ("TPU5", "TPU604", "TPU605", "TPU607", "TPU7")

TRAINER = """
# file: trainer.py
import tensorflow.compat.v1 as tf

def train(model_fn, input_fn, use_tpu=True):
    config = tf.estimator.tpu.RunConfig()
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn, use_tpu=use_tpu, train_batch_size=64, config=config
    )
    estimator.train(input_fn, max_steps=1000)

def specification(mode, loss, train_op):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
"""
MODEL = """
import tensorflow.compat.v1 as tf
import trainer

def input_fn(params):
    return tf.data.TFRecordDataset("gs://a").batch(8)  # error: TPU605

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    step = tf.train.get_global_step()
    train_op = tf.train.AdamOptimizer(0.1).minimize(loss, step)  # error: TPU604
    return trainer.specification(mode, loss, train_op)
"""
SOUND = MODEL.replace("  # error: TPU605", "").replace("  # error: TPU604", "")
LOOP = """
# file: loop.py
import trainer

def go(model_fn, input_fn):
    trainer.train(model_fn, input_fn)
"""
STRATEGY = """
# file: strategies.py
import tensorflow as tf

def make():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    return tf.distribute.TPUStrategy(resolver)
# file: loop.py
import tensorflow as tf

def go(s):
    def step(x):
        return tf.py_function(abs, [x], tf.float32)  # error: TPU501

    @tf.function
    def train(x):
        s.run(step, args=(x,))

    train(tf.zeros([8]))
"""

EITHER = """
# file: experiment.py
import tensorflow.compat.v1 as tf

def run(model_fn, input_fn, use_tpu):
    if use_tpu:
        config = tf.estimator.tpu.RunConfig()
        estimator = tf.estimator.tpu.TPUEstimator(model_fn, config=config, train_batch_size=8)
    else:
        estimator = tf.estimator.Estimator(model_fn)
    estimator.train(input_fn, max_steps=1)
# file: model.py
import tensorflow.compat.v1 as tf

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.py_func(abs, [features], tf.float32)){mark}
    return tf.estimator.{spec}(mode, loss=loss)
# file: train.py
import functools
import sys
import experiment
import model
from data import input_fn

experiment.run({model_fn}, input_fn, len(sys.argv) > 1)
"""
# Each model registers itself, and nothing but the `__init__` of their package imports it.
REGISTERED = """
# file: models/__init__.py
from .registry import *
{star}
# file: models/nets/__init__.py
__all__ = ["deep", "shallow"]
# file: models/nets/shallow.py
def unregistered(features, mode):
    pass
# file: models/nets/deep.py
import tensorflow.compat.v1 as tf
from ..registry import register
from .. import specification

@register("deep")
def deep(features, mode):
    loss = tf.reduce_mean(tf.py_func(abs, [features], tf.float32)){mark}
    return specification.of(mode, loss)
# file: models/specification.py
import tensorflow.compat.v1 as tf

def of(mode, loss):
    return tf.estimator.{spec}(mode, loss=loss)
# file: models/registry.py
MODELS = dict()

def register(name):
    def put(function):
        MODELS[name] = function
        return function
    return put

def model_of(name):
    def model_fn(features, labels, mode, params):
        return MODELS[name](features, mode)
    return model_fn
# file: experiment.py
import tensorflow.compat.v1 as tf

def run(model_fn, input_fn, accelerated):
    if accelerated:
        config = tf.estimator.tpu.RunConfig()
        estimator = tf.estimator.tpu.TPUEstimator(model_fn, config, train_batch_size=64)
    else:
        estimator = tf.estimator.Estimator(model_fn)
    estimator.train(input_fn, max_steps=1)
# file: data.py
import tensorflow.compat.v1 as tf

def input_fn(params):
    return tf.data.TFRecordDataset("gs://a").repeat().batch(params["batch_size"], True)
# file: train.py
import sys
import experiment
from data import input_fn
from models.registry import model_of

experiment.run(model_of("deep"), input_fn, len(sys.argv) > 1)
"""
STAR = "from .nets import *"
PROGRAMS = {
    "a model that a package's `__init__` imports with a star": REGISTERED.format(
        star=STAR, mark="  # error: TPU501", spec="tpu.TPUEstimatorSpec"
    ),
    "one that was written for no TPU": REGISTERED.format(star=STAR, mark="", spec="EstimatorSpec"),
    "one that nothing imports": REGISTERED.format(star="", mark="", spec="tpu.TPUEstimatorSpec"),
    # A false positive in google-research/language: its helper makes either Estimator.
    "a model_fn that was written for no TPU": EITHER.format(
        mark="", spec="EstimatorSpec", model_fn="model.model_fn"
    ),
    "a partial of one": EITHER.format(
        mark="", spec="EstimatorSpec", model_fn="functools.partial(model.model_fn)"
    ),
    "a model_fn that was written for a TPU": EITHER.format(
        mark="  # error: TPU501", spec="tpu.TPUEstimatorSpec", model_fn="model.model_fn"
    ),
    "at the top of a script": MODEL + "trainer.train(model_fn, input_fn)\n" + TRAINER,
    "in a function": MODEL + "def main():\n    trainer.train(model_fn, input_fn)\n" + TRAINER,
    "in a test": "# file: train_test.py"
    + MODEL
    + "def test_train():\n    trainer.train(model_fn, input_fn)\n"
    + TRAINER,
    "in a notebook's directory, of a package": MODEL.replace(
        "import trainer", "from library import trainer"
    )
    + "trainer.train(model_fn, input_fn)\n# file: library/__init__.py\n"
    + TRAINER.replace("trainer.py", "library/trainer.py"),
    "by a name of a package": MODEL.replace("import trainer", "import library as trainer")
    + "trainer.train(model_fn, input_fn)\n"
    + "# file: library/__init__.py\nfrom library.trainer import specification, train\n"
    + TRAINER.replace("trainer.py", "library/trainer.py"),
    "by another caller": MODEL.replace("import trainer", "import loop\nimport trainer")
    + "loop.go(model_fn, input_fn)\n"
    + LOOP
    + TRAINER,
    "for no TPU": SOUND + "trainer.train(model_fn, input_fn, use_tpu=False)\n" + TRAINER,
    "of a helper that no caller imports": SOUND.replace("import trainer", "import other as trainer")
    + "trainer.train(model_fn, input_fn)\n# file: other.py\ndef train(*functions):\n    pass\n"
    + TRAINER,
    "an input function for the other Estimator": """
import tensorflow.compat.v1 as tf
import estimators

def rows():
    return tf.data.TFRecordDataset("gs://a")

def main(flags):
    if flags.use_tpu:
        def input_fn(params):
            return rows().batch(params["batch_size"], drop_remainder=True)
    else:
        def input_fn():
            return rows().batch(8)
    estimators.make(flags).train(input_fn, steps=10)
# file: estimators.py
import tensorflow.compat.v1 as tf

def make(flags):
    if flags.use_tpu:
        return tf.estimator.tpu.TPUEstimator(model, train_batch_size=8, config=flags.config)
    return tf.estimator.Estimator(model)
""",
    "what runs a step with the strategy of another module": """
import loop
import strategies

loop.go(strategies.make())
"""
    + STRATEGY,
    "what fits the model that a function makes under a scope": """
import models

def loss(y, x):
    return x.numpy()  # error: TPU507

model = models.build("large")
model.compile("adam", loss)  # possible: TPU702
model.fit([1.0], [1.0])
# file: models.py
import tensorflow as tf

def choose():
    if not tf.config.list_physical_devices("TPU"):
        return tf.distribute.OneDeviceStrategy("/cpu:0")
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    return tf.distribute.TPUStrategy(resolver)

def build(size):
    with choose().scope():
        return tf.keras.Sequential([tf.keras.layers.Dense(8 if size == "large" else 2)])
""",
    "what fits a model that is made under no scope": """
import models

model = models.build("large")
model.compile("adam", lambda y, x: x.numpy())
model.fit([1.0], [1.0])
# file: models.py
import tensorflow as tf

def choose():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    return tf.distribute.TPUStrategy(resolver)

def build(size):
    return tf.keras.Sequential([tf.keras.layers.Dense(8 if size == "large" else 2)])
""",
    "a helper of tests, which test parameters choose": """
# file: model_test.py
import tensorflow.compat.v1 as tf
import test_case

class ModelTest(test_case.TestCase):
    def test_where(self):
        def graph_fn(x):
            return tf.py_func(abs, [x], tf.float32)
        self.execute(graph_fn)
# file: test_case.py
import tensorflow.compat.v1 as tf

class TestCase(tf.test.TestCase):
    def execute(self, graph_fn):
        tf.tpu.rewrite(graph_fn, [tf.zeros([8])])
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_caller_is_read(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)
