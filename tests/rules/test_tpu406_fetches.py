"""Fetches out of a computation, certain and possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import KEPT, V1

MODEL = (
    V1
    + """
import logging
import sys

class Model:
    def step(self, x):
        self.loss = tf.reduce_mean(x)
        return self.loss
"""
)
TPU_ESTIMATOR = """

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True)
"""
PROGRAMS = {
    "what is asked of a tensor, or shown, without a fetch": MODEL
    + """
    def train(self, x, pipeline):
        tf.tpu.rewrite(lambda value: self.step(value), [x])
        logging.info(self.loss)
        print(self.loss.get_shape(), self.loss.consumers())
        self.loss.set_shape([])
        pipeline.run(self.loss)
        with tf.Session() as session:
            session.describe(self.loss)
""",
    "what another run of the program made": MODEL
    + """
model = Model()

def build(x):
    return tf.tpu.rewrite(lambda value: model.step(value), [x])

def report():
    with tf.Session() as session:
        return session.run(model.loss)
""",
    "a list that changes after the fetch": MODEL
    + """
    def train(self, x):
        fetches = {"all": [tf.tpu.rewrite(lambda value: self.step(value), [x])]}
        with tf.Session() as session:
            session.run(fetches)
        fetches["all"].append(self.loss)
        fetches["loss"] = self.loss
""",
    "either of two tensors": MODEL
    + """
    def train(self, x, flag):
        outputs = tf.tpu.rewrite(lambda value: self.step(value), [x])
        with tf.Session() as session:
            return session.run(outputs if flag else self.loss)
""",
    "functions that may be called to fetch": MODEL
    + """
def fetch(session, tensor):
    return session.run(tensor)  # possible: TPU406

def keep(session, tensor):
    return tensor

def train(x):
    model = Model()
    tf.tpu.rewrite(lambda value: model.step(value), [x])
    with tf.Session() as session:
        return (fetch if len(sys.argv) > 1 else keep)(session, model.loss)
""",
    "a computation in a tf.function": MODEL
    + """
    def train(self, x):
        @tf.function
        def run():
            tf.tpu.rewrite(lambda value: self.step(value), [x])
            return self.loss
        run()
        with tf.Session() as session:
            return session.run(self.loss)
""",
    "host operations of replicas that are not counted": V1
    + "def train(rows):\n"
    + KEPT
    + """\
    tf.tpu.replicate(computation, rows)
    with tf.Session() as session:
        return session.run(kept[0])
""",
    "host operations of two replicas": V1
    + "def train(x, y):\n"
    + KEPT
    + """\
    tf.tpu.replicate(computation, [[x], [y]])
    with tf.Session() as session:
        return session.run(kept[0])  # error: TPU406
""",
    "host operations of a model_fn": V1
    + """
class Model:
    def model_fn(self, features, labels, mode, params):
        def on_host(value):
            self.log = tf.math.log(value)
            return self.log
        tf.tpu.outside_compilation(on_host, features)
        loss = tf.reduce_mean(features)
        hook = tf.train.LoggingTensorHook({"log": self.log}, every_n_iter=10)
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, training_hooks=[hook])

model = Model()
estimator = tf.estimator.tpu.TPUEstimator(model.model_fn, use_tpu=True)
with tf.Session() as session:
    session.run(model.log)
""",
    "hooks that are not seen": V1
    + """
from elsewhere import Watcher, make_hooks

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    if params["watch"]:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, training_hooks=make_hooks(loss))
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, training_hooks=[Watcher(loss)])
"""
    + TPU_ESTIMATOR,
    "hooks that take either of two tensors": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    shown = loss if params["loss"] else "loss:0"
    hook = tf.train.LoggingTensorHook({"loss": shown}, every_n_iter=10)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, training_hooks=[hook])
"""
    + TPU_ESTIMATOR,
    "hooks that take what another estimator's run made": V1
    + """
class Model:
    def first(self, features, labels, mode, params):
        self.loss = tf.reduce_mean(features)
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=self.loss)

    def second(self, features, labels, mode, params):
        hook = tf.train.LoggingTensorHook({"loss": self.loss}, every_n_iter=10)
        loss = tf.reduce_sum(features)
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, training_hooks=[hook])

model = Model()
one = tf.estimator.tpu.TPUEstimator(model.first, use_tpu=True)
other = tf.estimator.tpu.TPUEstimator(model.second, use_tpu=True)
""",
    "hooks of a specification for no TPU": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    hook = tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=10)
    if params["distributed"]:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
    return tf.estimator.EstimatorSpec(mode, loss=loss, training_hooks=[hook])
"""
    + TPU_ESTIMATOR,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU4"]) == expected(text, ["TPU4"])
