"""Programs that are wrong in ways that are easy to miss, for the rules TPU4xx."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

PROGRAMS = {
    "inputs of many wrong kinds": V1
    + """
import numpy as np
from tensorflow.compat.v1.tpu import replicate, split_compile_and_replicate

def computation(x):
    return x

def build(x, many, flag):
    variable = tf.get_variable("v", [8])
    replicate(computation, ([x], [x]))  # error: TPU401
    replicate(computation, {"x": x})  # error: TPU401
    replicate(computation, [[x], {"x": x}])  # error: TPU401
    replicate(computation, variable)  # error: TPU401
    replicate(computation, [1.0, 2.0])  # error: TPU401
    replicate(computation, [tf.zeros([2]) for _ in many])  # possible: TPU401
    split_compile_and_replicate(computation, np.asarray([[1.0]]))  # error: TPU401
    return replicate(computation, [[x]] if flag else ([x],))  # possible: TPU401
""",
    "rows that differ deep inside": V1
    + """
def computation(*args):
    return args[0]

def build(a, b):
    integers = tf.zeros([2], dtype=tf.int32)
    floats = tf.fill([2], 1.0)
    tf.tpu.replicate(computation, [[[a, [b]]], [[a, [b, b]]]])  # error: TPU402
    tf.tpu.replicate(computation, [[(a, b)], [[a, b]]])  # error: TPU402
    tf.tpu.replicate(computation, [[{"x": integers}], [{"x": floats}]])  # error: TPU402
    tf.tpu.replicate(computation, [[integers], [1.0]])  # error: TPU402
    return tf.tpu.replicate(computation, [[a]] * 3 + [[a, b]])  # error: TPU402
""",
    "computations that cannot take what they get": V1
    + """
import functools
from tensorflow.python.tpu import tpu_feed

def two(a, b):
    return a + b

def keyword_only(a, *, scale):
    return a * scale

class Model:
    def step(self, x, scale=1.0):
        return x * scale

def build(a, b):
    queue = tpu_feed.InfeedQueue(number_of_tuple_elements=2)
    tf.tpu.rewrite(functools.partial(two, a), [a, b])  # error: TPU403
    tf.tpu.rewrite(two)  # error: TPU403
    tf.tpu.rewrite(Model().step, [a])  # error: TPU403
    tf.tpu.rewrite(keyword_only, [a])  # error: TPU403
    tf.tpu.shard(two, [a], num_shards=2, infeed_queue=queue)  # error: TPU403
    return tf.tpu.replicate(two, [[a, [b, b], b]] * 2)  # error: TPU403
""",
    "maximum shapes that do not fit": V1
    + """
def computation(*args):
    return args[0]

def build():
    rows = [[tf.zeros([5, 2]), tf.zeros([3])], [tf.zeros([4, 2]), tf.zeros([3])]]
    shape = tf.TensorShape
    tf.tpu.replicate(
        computation, rows, maximum_shapes=[shape([4, 2]), shape([3])]  # error: TPU404
    )
    tf.tpu.replicate(computation, rows, maximum_shapes=[[8, 2], [8]])  # error: TPU404
    return tf.tpu.replicate(
        computation, rows, None, None, None, [shape([8]), shape([3])]  # error: TPU404
    )
""",
    "names in every form of call": V1
    + """
from tensorflow.contrib.tpu.python.tpu.tpu import batch_parallel, split_compile_and_shard

def build(x, name):
    batch_parallel(lambda value: value, [x], num_shards=2, name=name)  # error: TPU405
    split_compile_and_shard(name="a", computation=lambda value: value, inputs=[x])  # error: TPU405
    return tf.tpu.rewrite(lambda value: value, [x], name=f"{name}_tpu")  # error: TPU405
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

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True)
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

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=flags.use_tpu)
""",
    "operations in deep and in flat outputs": V1
    + """
def nested(x):
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return x, (x, optimizer.minimize(x))  # error: TPU407

def named(x):
    outputs = [tf.debugging.assert_positive(x), x * 2.0]  # error: TPU407
    return outputs

def either(x, flag):
    if flag:
        return tf.group(x), x * 2.0  # possible: TPU407
    return x * 2.0, tf.group(x)

def build(x, flag):
    tf.tpu.rewrite(nested, [x])
    tf.tpu.rewrite(named, [x])
    return tf.tpu.rewrite(lambda value: either(value, flag), [x])
""",
    "cores and replicas that need an assignment": V1
    + """
def model(x, parallel):
    if parallel:
        with tf.device(tf.tpu.core(2 - 1)):
            return x * 2.0
    return x

def build(x, parallel):
    tf.tpu.shard(lambda value: value, [x], num_shards=3)  # error: TPU408
    tf.tpu.batch_parallel(lambda value: value, [x], 2 * 2 + 1)  # error: TPU408
    return tf.tpu.rewrite(lambda value: model(value, parallel), [x])  # possible: TPU408
""",
    "padding without effect, by position and in structures": V1
    + """
def computation(*args):
    return args[0]

def build(x):
    spec = tf.tpu.PaddingSpec.POWER_OF_TWO
    rows = [[tf.zeros([4]), tf.ones([2, 2])]] * 2
    shapes = [tf.TensorShape([None]), tf.TensorShape([None, 2])]
    tf.tpu.replicate(computation, rows, None, None, None, shapes, spec)  # error: TPU409
    tf.tpu.replicate(computation, [[x], [x]], None, None, None, [], spec)  # error: TPU409
    return tf.tpu.replicate(computation, [[x]], padding_spec=spec)  # error: TPU409
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_marked_is_reported(text: str, tmp_path: Path) -> None:
    families = ("TPU4",)
    assert set(reported(text, tmp_path, families)) == set(expected(text, families))
