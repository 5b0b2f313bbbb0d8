"""Programs with TPU403, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

STRATEGY = """
import functools
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())

class Model:
    def step(self, x, y=1.0):
        return x

    @staticmethod
    def free(x):
        return x

    def __call__(self, x):
        return x

def named(x, *, training):
    return x

def pair(x, y):
    return x
"""
PROGRAMS = {
    "slices of inputs": V1
    + """
import library

def scaled(a, x, y):
    return a * x + y

inputs = [3.0, tf.ones([3, 3]), tf.ones([3, 3]), 1.0]
tf.tpu.rewrite(scaled, inputs[:3])
tf.tpu.rewrite(scaled, inputs[-3:])
tf.tpu.rewrite(scaled, inputs[: library.count()])
tf.tpu.rewrite(scaled, inputs[:2])  # error: TPU403
tf.tpu.rewrite(scaled, inputs[::2])  # error: TPU403
tf.tpu.rewrite(scaled, inputs[2:])  # error: TPU403
""",
    "a strategy's run that gives what its function takes": STRATEGY
    + """
def wrapped(fn):
    return unseen.wrap(fn)

@unseen.wrap
def changed(x):
    return x

@tf.function
def steps(x, fn, *args, **kwargs):
    strategy.run(Model().step, args=(x,))
    strategy.run(Model().step, args=(x, x))
    strategy.run(Model(), args=[x])
    strategy.run(Model.free, (x,))
    strategy.run(named, args=(x,), kwargs={"training": True})
    strategy.run(named, (x,), dict(training=True))
    strategy.run(pair, args=args)
    strategy.run(pair, args=(x,), kwargs=kwargs)
    strategy.run(pair, *args)
    strategy.run(functools.partial(pair, x), args=(x,))
    strategy.run(fn, args=(x, x, x))
    strategy.run(changed, args=(x, x))
    strategy.run(lambda *parts: parts, args=(x, x))

steps(tf.ones([4]), unseen.step, *unseen.rest, **unseen.more)
batches = tf.data.Dataset.from_tensor_slices((tf.ones([8, 3]), tf.ones([8]))).batch(4)

@tf.function
def of_elements(iterator):
    strategy.run(pair, args=next(iterator))
    for batch in batches:
        strategy.run(pair, args=batch)  # possible: TPU714

of_elements(iter(strategy.experimental_distribute_dataset(batches)))
""",
    "a test that may tell which function gets which arguments": STRATEGY
    + """
def repeat(step, iterator=None):
    for _ in range(unseen.number):
        if iterator:
            strategy.run(step, args=(next(iterator),))
        else:
            strategy.run(step)

@tf.function
def steps(x):
    strategy.run(pair if x.shape[0] else named, args=(x, x))

batches = tf.data.Dataset.from_tensor_slices((tf.ones([8, 3]), tf.ones([8]))).batch(4)
repeat(tf.function(Model.free), iter(strategy.experimental_distribute_dataset(batches)))
repeat(tf.function(lambda: 1.0))
steps(tf.ones([4]))
""",
    "a strategy's run that gives too much, too little or by another name": STRATEGY
    + """
@tf.function
def steps(x):
    strategy.run(Model().step, args=(x, x, x))  # error: TPU403
    strategy.run(Model(), args=[])  # error: TPU403
    strategy.run(Model.free, (x, x))  # error: TPU403
    strategy.run(named, args=(x,))  # error: TPU403
    strategy.run(named, args=(x,), kwargs={"train": True})  # error: TPU403
    strategy.run(functools.partial(pair, x), args=(x, x))  # error: TPU403
    strategy.run(lambda: 1.0, args=(x,))  # error: TPU403

steps(tf.ones([4]))
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
    "decorators that are seen to return their function, and others": V1
    + """
import functools
import library

REGISTERED = {}

def register(fn):
    REGISTERED[fn.__name__] = fn
    return fn

def named(name):
    def decorate(fn):
        REGISTERED[name] = fn
        return fn
    return decorate

def with_zero(fn):
    @functools.wraps(fn)
    def wrapped(a):
        return fn(a, 0.0)
    return wrapped

def maybe(fn):
    return with_zero(fn) if library.flag else fn

@register
def registered(a, b):
    return a + b

@register
@named("other")
def twice(a, b):
    return a + b

@register
@with_zero
def filled(a, b):
    return a + b

@with_zero
@register
def filled_last(a, b):
    return a + b

@maybe
def sometimes(a, b):
    return a + b

@register
@library.decorate
def unseen(a, b):
    return a + b

def build(a):
    tf.tpu.rewrite(registered, [a])  # error: TPU403
    tf.tpu.rewrite(registered, [a, a])
    tf.tpu.rewrite(twice, [a])  # error: TPU403
    tf.tpu.rewrite(filled, [a])
    tf.tpu.rewrite(filled_last, [a])
    tf.tpu.rewrite(sometimes, [a])
    return tf.tpu.rewrite(unseen, [a])
""",
    "queues that say how much they feed": V1
    + """
from tensorflow.python.tpu import tpu_feed

def two(a, b):
    return a + b

def build(a):
    by_position = tpu_feed.InfeedQueue(2)
    by_types = tpu_feed.InfeedQueue(tuple_types=[tf.float32, tf.float32])
    by_types_alone = tpu_feed.InfeedQueue(None, [tf.float32, tf.float32])
    fitting = tpu_feed.InfeedQueue(1)
    tf.tpu.shard(two, [a], num_shards=2, infeed_queue=by_position)  # error: TPU403
    tf.tpu.shard(two, [a], num_shards=2, infeed_queue=by_types)  # error: TPU403
    tf.tpu.shard(two, [a], num_shards=2, infeed_queue=by_types_alone)  # error: TPU403
    return tf.tpu.shard(two, [a], num_shards=2, infeed_queue=fitting)
""",
    "queues and inputs of which the number is not seen": V1
    + """
import queue
from tensorflow.python.tpu import tpu_feed

def two(a, b):
    return a + b

def build(a, more, number, types):
    unsized = tpu_feed.InfeedQueue()
    computed = tpu_feed.InfeedQueue(number)
    untyped = tpu_feed.InfeedQueue(tuple_types=types)
    longer = tpu_feed.InfeedQueue(tuple_types=[tf.float32, tf.float32, *more])
    written = tpu_feed.InfeedQueue("2")
    tf.tpu.rewrite(two, [a], infeed_queue=unsized)
    tf.tpu.rewrite(two, [a], infeed_queue=computed)
    tf.tpu.rewrite(two, [a], infeed_queue=untyped)
    tf.tpu.rewrite(two, [a], infeed_queue=longer)
    tf.tpu.rewrite(two, [a], infeed_queue=written)
    tf.tpu.rewrite(two, [a], infeed_queue=queue.Queue(3))
    tf.tpu.rewrite(two, [a], infeed_queue=tf.queue.FIFOQueue(3, [tf.float32]))
    tf.tpu.rewrite(two, [a, b, *more])
    tf.tpu.rewrite(two, [a, *more])
    tf.tpu.rewrite(*more, inputs=[a])
    tf.tpu.rewrite(inputs=[a])
    tf.tpu.replicate(two, None)  # error: TPU403
    rows = [[a]]
    for each in more:
        rows.append([each])
    tf.tpu.replicate(two, rows)  # possible: TPU403
    fit, mixed = [], [[a, b]]
    for each in more:
        fit.append([each, a])
        mixed.append([each])
    tf.tpu.replicate(two, mixed)
    return tf.tpu.replicate(two, fit)
""",
    "partial functions that fit, and methods that never do": V1
    + """
import functools

def decorated(fn):
    return register(fn)

@decorated
def wrapped(a, b):
    return a

def two(a, b):
    return a + b

def scaled(a, *, scale):
    return a * scale

def many(a, *others):
    return a

class Model:
    def step(self, x):
        return x

    def steps(self, *xs):
        return xs[0]

def build(a, flag):
    model = Model()
    tf.tpu.rewrite(functools.partial(two, b=1.0), [a])
    tf.tpu.rewrite(functools.partial(scaled, scale=2.0), [a])
    tf.tpu.rewrite(functools.partial(wrapped, 1.0), [a, a, a])
    tf.tpu.rewrite(functools.partial(make(3), 1.0), [a, a, a])
    tf.tpu.rewrite(functools.partial(many, 1.0), [a, a, a])
    tf.tpu.rewrite(model.steps, [a, a])
    tf.tpu.rewrite(functools.partial(model.step), [a])  # error: TPU403
    tf.tpu.rewrite(functools.partial(model.step, 1.0), [])  # error: TPU403
    tf.tpu.rewrite(functools.partial(scaled, 1.0), [a])  # error: TPU403
    return tf.tpu.rewrite(two if flag else many, [a])  # possible: TPU403
""",
    "functions that are only called like TensorFlow's": """
import tensorflow.compat.v1 as tf

def pair(x):
    return tf.group(x), x * 2.0  # possible: TPU407

def on_core(x):
    with tf.device(tf.tpu.core(1)):
        return x

def build(tpu, x):
    tpu.replicate(pair, ([x],), name="a")  # possible: TPU401, TPU405
    tpu.replicate(lambda: 1.0, [[x], [x, x]])  # possible: TPU402, TPU403
    tpu.rewrite(on_core, [x])  # possible: TPU408
    tpu.shard(lambda x: x, [x], num_shards=3)  # possible: TPU408
    spec = tf.tpu.PaddingSpec.AUTO
    return tpu.replicate(lambda x: x, [[x]], padding_spec=spec)  # possible: TPU409
""",
    "a rewrite of a library that is only named like TensorFlow's": """
from library import tpu

def computation(x, y):
    return x + y

def build(x):
    return tpu.rewrite(computation, [x])  # possible: TPU403
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
