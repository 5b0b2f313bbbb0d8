"""Programs that are right, or not surely wrong: the rules TPU3xx and TPU4xx stay silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import reported

V1 = "import tensorflow.compat.v1 as tf\n\n\n"
TPU = "import contextlib\nimport tensorflow as tf\n\nstrategy = tf.distribute.TPUStrategy()\n\n\n"

PROGRAMS = {
    "a context manager of one's own leaves what it enters": V1
    + """
import contextlib

@contextlib.contextmanager
def cleared():
    with tf.control_dependencies(None):
        yield

def computation(x):
    def on_host(value):
        with cleared():
            return tf.math.log(value)
    return tf.tpu.outside_compilation(on_host, x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "entered by one helper and left by another": V1
    + """
from tensorflow.python.ops import control_flow_ops

def begin(context):
    context.Enter()

def end(context):
    context.Exit()

def computation(x):
    def on_host(value):
        context = control_flow_ops.XLAControlFlowContext()
        begin(context)
        result = tf.math.log(value)
        end(context)
        return result
    return tf.tpu.outside_compilation(on_host, x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "tf.function compares no contexts": TPU
    + """
from tensorflow.python.ops import control_flow_ops

@tf.function
def train(batch):
    def step(x):
        def on_host(value):
            control_flow_ops.XLAControlFlowContext().Enter()
            return value
        return tf.compat.v1.tpu.outside_compilation(on_host, x)
    return strategy.run(step, args=(batch,))
""",
    "a name that traced control flow sets again after the loop": V1
    + """
class Decoder:
    def body(self, i, state):
        self.last = state * 0.5
        return i + 1, self.last

    def decode(self, state):
        _, final = tf.while_loop(lambda i, state: i < 8, self.body, [0, state])
        self.last = final
        return self.last * 2.0

def build(state):
    decoder = Decoder()
    return tf.tpu.rewrite(lambda value: decoder.decode(value), [state])
""",
    "the predicate of a loop is the loop's": V1
    + """
def computation(x):
    return tf.while_loop(lambda value: tf.reduce_sum(value) < 9.0, lambda value: value * 2.0, [x])

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "an escape that may be another tensor": V1
    + """
def computation(x, keep):
    last = x
    def branch():
        nonlocal last
        if keep:
            last = x * 2.0
        return x
    y = tf.cond(x > 0.0, branch, lambda: x)
    return y + last

def build(x, y, keep):
    return tf.tpu.replicate(lambda value: computation(value, keep), [[x], [y]])
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
    "an attribute that each branch sets anew": V1
    + """
class Gan:
    def losses(self, x, flag):
        if flag:
            self.loss = x * 2.0
        else:
            self.loss = x * 3.0
        return self.loss + 1.0

    def step(self, x, flag):
        first = tf.cond(x > 0.0, lambda: self.losses(x, flag), lambda: x)
        return tf.cond(x > 1.0, lambda: self.losses(first, flag), lambda: first)

def build(x, y, flag):
    gan = Gan()
    return tf.tpu.replicate(lambda value: gan.step(value, flag), [[x], [y]])
""",
    "a branch's own list": V1
    + """
def computation(x):
    def layers():
        kept = []
        for size in (1, 2):
            kept.append(x * size)
        return tf.add_n(kept), kept[0]
    total, first = tf.cond(x > 0.0, layers, lambda: (x, x))
    return total + first

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "the update runs before what the optimizer makes": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(updates):
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True)
""",
    "a generator's block is its user's": V1
    + """
import contextlib

@contextlib.contextmanager
def after(check):
    with tf.control_dependencies([check]):
        yield

def computation(x):
    with after(tf.debugging.assert_positive(x)):
        return x * 2.0

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "an item of something unseen may be an operation": V1
    + """
def computation(x, parts):
    with tf.control_dependencies([tf.debugging.assert_positive(x)]):
        return parts["logits"]

def build(x, y):
    return tf.tpu.replicate(computation, [[x, y], [y, x]])
""",
    "a callee that is not seen may build an operation": V1
    + """
from elsewhere import scaled

def computation(x):
    with tf.control_dependencies([tf.debugging.assert_positive(x)]):
        return scaled(x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "one caller gives a function that builds an operation": V1
    + """
def after(check, fn):
    with tf.control_dependencies([check]):
        return fn()

def computation(x):
    check = tf.debugging.assert_positive(x)
    return after(check, lambda: x), after(check, lambda: x * 2.0)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "a loop with a literal number of rounds": TPU
    + """
@tf.function
def train(batch):
    def step(x):
        for _ in tf.range(4):
            x = tf.distribute.get_replica_context().all_reduce("SUM", x)
        return x
    return strategy.run(step, args=(batch,))
""",
    "a training loop repeats on every replica alike": V1
    + """
from tensorflow.python.tpu import training_loop

def computation(x):
    def step(value):
        return tf.tpu.cross_replica_sum(value) * 0.5
    return training_loop.repeat(10, step, [x])

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "a counted while_loop": V1
    + """
def computation(x):
    body = lambda i, value: (i + 1, tf.tpu.cross_replica_sum(value))
    return tf.while_loop(lambda i, value: i < 8, body, [tf.constant(0), x])

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "the condition has gone through a collective": V1
    + """
def computation(x):
    total = tf.tpu.cross_replica_sum(x)
    large = tf.logical_and(total > 1.0, tf.cast(total, tf.int32) < 8)
    return tf.cond(large, lambda: tf.tpu.cross_replica_sum(x * 2.0), lambda: x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "a Python condition": TPU
    + """
class Trainer:
    def __init__(self, sync):
        self.sync = sync

    def step(self, x):
        context = tf.distribute.get_replica_context()
        if self.sync and context.num_replicas_in_sync > 1:
            x = context.all_reduce("MEAN", x)
        return x

    @tf.function
    def train(self, batch):
        return strategy.run(self.step, args=(batch,))
""",
    "gradients that are applied without a sum": TPU
    + """
optimizer = tf.keras.optimizers.SGD(0.1)
weight = tf.Variable(1.0)

@tf.function
def train(batch):
    def step(x):
        def apply():
            optimizer.apply_gradients([(x, weight)], experimental_aggregate_gradients=False)
            return True
        tf.cond(x > 0.0, apply, lambda: False)
    strategy.run(step, args=(batch,))
""",
    "an optimizer that is no CrossShardOptimizer sums nothing": V1
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    step = tf.train.get_global_step()
    train_op = tf.cond(loss > 1.0, lambda: optimizer.minimize(loss, step), lambda: tf.no_op())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True)
""",
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
    assert reported(text, tmp_path, ("TPU3", "TPU4")) == []
