"""Programs that are right, or not certainly wrong: the rules TPU4xx stay silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import reported
from tests.rules.openings import V1

PROGRAMS = {
    "rows of unknown kind, made in several ways": V1
    + """
def computation(*args):
    return tf.add_n(args)

def build(first, second, columns, number):
    tf.tpu.replicate(computation, [first, second])
    tf.tpu.replicate(computation, list(zip(*columns)))
    tf.tpu.replicate(computation, [[part] for part in tf.split(first, 2)])
    tf.tpu.replicate(computation, [[]] * number)
    tf.tpu.replicate(computation, tf.nest.map_structure(lambda value: [value], columns))
    rows = []
    for column in columns:
        rows.append((column,))
    tf.tpu.replicate(computation, rows)
    tf.tpu.replicate(computation, inputs=None)
    return tf.tpu.replicate(computation)
""",
    "a list that one branch makes right": V1
    + """
def computation(x):
    return x

def build(x, flag):
    inputs = [[x], [x]]
    if flag:
        inputs = [[x], [x], [x], [x]]
    return tf.tpu.replicate(computation, inputs)
""",
    "None beside a tensor, and lists that are not closed": V1
    + """
def computation(*args):
    return args[0]

def build(a, b, more):
    tf.tpu.replicate(computation, [[a, None], [b, a]])
    tf.tpu.replicate(computation, [[tf.constant(1.0)], [2.0]])
    tf.tpu.replicate(computation, [[a, *more], [b]])
    return tf.tpu.replicate(computation, [[{"x": a, **more}], [{"x": b}]])
""",
    "computations that take what they get": V1
    + """
import functools

def decorated(fn):
    return fn

@decorated
@tf.custom_gradient
def two(a, b):
    return a + b

def any_number(*args, **kwargs):
    return args

def with_defaults(a, b=1.0, c=2.0):
    return a

class Model:
    @staticmethod
    def step(a, b):
        return a + b

    def __call__(self, a, b):
        return a

def build(a, b, fn, inputs):
    model = Model()
    tf.tpu.rewrite(two, [a])
    tf.tpu.rewrite(any_number, [a, b])
    tf.tpu.rewrite(with_defaults, [a])
    tf.tpu.rewrite(with_defaults, [a, b, a])
    tf.tpu.rewrite(Model.step, [a, b])
    tf.tpu.rewrite(model, [a, b])
    tf.tpu.rewrite(fn, [a, b])
    tf.tpu.rewrite(with_defaults, inputs)
    tf.tpu.rewrite(functools.partial(with_defaults, a), [b])
    tf.tpu.rewrite(lambda x, scale=2.0: x * scale, [a])
    tf.tpu.replicate(two, [[a, [b, b]]] * 2)
    return tf.tpu.rewrite(lambda: 1.0)
""",
    "an infeed queue of unknown width": V1
    + """
from tensorflow.python.tpu import tpu_feed

def computation(a, b, c):
    return a + b + c

def build(a, queue):
    tf.tpu.shard(computation, [a], num_shards=2, infeed_queue=queue)
    other = tpu_feed.InfeedQueue(tuple_types=[tf.float32, tf.float32])
    return tf.tpu.shard(computation, [a], num_shards=2, infeed_queue=other)
""",
    "maximum shapes whose inputs are not seen": V1
    + """
def computation(x):
    return x

def build(x, y, shapes, queue):
    tf.tpu.replicate(computation, [[x], [y]], maximum_shapes=shapes)
    tf.tpu.replicate(computation, [[x], [y]], maximum_shapes=[tf.TensorShape([8])])
    rows = [[tf.placeholder(tf.float32)], [tf.placeholder(tf.float32)]]
    tf.tpu.replicate(computation, rows, maximum_shapes=[tf.TensorShape([8])])
    tf.tpu.replicate(computation, rows, maximum_shapes=[])
    return tf.tpu.replicate(computation, rows, None, None, None, None)
""",
    "a static shape that no replica pads": V1
    + """
def computation(x):
    return x

def build():
    inputs = [[tf.zeros([9])], [tf.ones([9])]]
    return tf.tpu.replicate(computation, inputs, maximum_shapes=[tf.TensorShape([4])])
""",
    "names of other things": V1
    + """
def build(dataset, x):
    dataset.shard(2, 0)
    tf.tpu.rewrite(lambda value: tf.identity(value, name="x"), [x], name=None)
    return dataset.batch(8, name="batch")
""",
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

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True)
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

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True)
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

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=flags.use_tpu)
""",
    "a host operation of one replica may be fetched": V1
    + """
def build(x):
    kept = []
    def computation(value):
        def on_host(tensor):
            kept.append(tf.math.log(tensor))
            return kept[0]
        return tf.tpu.outside_compilation(on_host, value)
    outputs = tf.tpu.rewrite(computation, [x])
    with tf.Session() as session:
        return session.run([outputs, kept[0]])
""",
    "outputs in an order that TensorFlow takes": V1
    + """
from elsewhere import make

def computation(x):
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(x)
    return x * 2.0, train_op

def unseen(x):
    return tf.group(x), make(x)

def build(x):
    tf.tpu.rewrite(computation, [x])
    tf.tpu.rewrite(unseen, [x])
    tf.tpu.rewrite(lambda value: tf.group(value), [x])
    return tf.tpu.rewrite(lambda value: None, [x])
""",
    "an assignment that may be given, and replicas that are not counted": V1
    + """
def computation(x):
    with tf.device(tf.tpu.core(0)):
        return x * 2.0

def on_core(x, number):
    with tf.device(tf.tpu.core(number)):
        return x * 2.0

def build(x, number, **options):
    tf.tpu.replicate(on_core, [[x, number]], **options)
    tf.tpu.rewrite(on_core, [x, number])
    tf.tpu.shard(computation, [x], num_shards=number)
    tf.tpu.shard(computation, [x], num_shards=8)
    return tf.tpu.replicate(computation, [[x]] * 3, None, number)
""",
    "padding that may have an effect": V1
    + """
def computation(x):
    return x

def build(x, spec, **options):
    tf.tpu.replicate(computation, [[x], [x]], padding_spec=spec)
    tf.tpu.replicate(
        computation, [[x], [x]], padding_spec=tf.tpu.PaddingSpec.POWER_OF_TWO, **options
    )
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_is_said(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ("TPU4",)) == []
