"""Programs with TPU406, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import KEPT, V1

PROGRAMS = {
    "what may be fetched": V1
    + """
class Model:
    def step(self, x):
        self.loss = tf.reduce_mean(x)
        return self.loss

    def train(self, x):
        self.loss = tf.tpu.rewrite(lambda value: self.step(value), [x])[0]
        hook = tf.train.LoggingTensorHook(["loss:0"], every_n_iter=10)
        with tf.Session() as session:
            session.run(tf.tpu.initialize_system())
            session.run([self.loss, tf.train.get_global_step()])
""",
    "a hook of the branch that is no TPU's": V1
    + """
class Hook(tf.train.SessionRunHook):
    def __init__(self, tensors):
        self.tensors = tensors

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    hook = Hook({} if params["use_tpu"] else {"loss": loss})
    if not params["use_tpu"]:
        logging = tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=10)
        return tf.estimator.EstimatorSpec(mode, loss=loss, training_hooks=[logging])
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, training_hooks=[hook])

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8)
""",
    "a hook that the other branch adds to the same list": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    hooks = []
    if params["strategy"] == "tpu":
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, training_hooks=hooks)
    hooks.append(tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=10))
    return tf.estimator.EstimatorSpec(mode, loss=loss, training_hooks=hooks)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8)
""",
    "hooks where no TPU is used": V1
    + """
flags = tf.flags.FLAGS

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    make = tf.estimator.tpu.TPUEstimatorSpec
    hook = tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=10)
    if not flags.use_tpu and mode == "train":
        return make(mode, loss=loss, training_hooks=[hook])
    if params.get("use_tpu", False) or params["strategy"] == "tpu":
        return make(mode, loss=loss)
    return make(mode, loss=loss, training_hooks=[hook] if not params["use_tpu"] else None)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=flags.use_tpu, train_batch_size=8)
""",
    "a host operation of one replica may be fetched": V1
    + "def build(x):\n"
    + KEPT
    + """\
    outputs = tf.tpu.rewrite(computation, [x])
    with tf.Session() as session:
        return session.run([outputs, kept[0]])
""",
    "fetched in many ways": V1
    + """
class Model:
    def step(self, x):
        self.parts = {"loss": tf.reduce_mean(x), "x": x * 2.0}
        self.update = tf.group(x)
        return x

    def train(self, x, y):
        tf.tpu.replicate(lambda value: self.step(value), [[x], [y]])
        with tf.Session() as sess:
            sess.run([x, self.parts["loss"]])  # error: TPU406
            sess.run({"all": self.parts})  # error: TPU406
            sess.run(fetches=self.update)  # error: TPU406
            self.parts["x"].eval(session=sess)  # error: TPU406
        return tf.train.SessionRunArgs(self.parts["loss"])  # error: TPU406
""",
    "hooks of an estimator's specification": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    rate = tf.train.exponential_decay(0.1, tf.train.get_global_step(), 10, 0.9)
    hook = tf.train.LoggingTensorHook({"loss": loss, "rate": rate}, 10)  # error: TPU406
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, training_hooks=[hook])

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8)
""",
    "hooks where a TPU is used": V1
    + """
flags = tf.flags.FLAGS

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    hook = None
    if flags.use_tpu:
        hook = tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=10)  # error: TPU406
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, training_hooks=[hook])

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=flags.use_tpu, train_batch_size=8)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
