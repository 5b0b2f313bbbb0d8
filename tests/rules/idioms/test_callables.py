"""Idioms of real code for naming and passing functions, each with a fault behind it.

Each program leads from an entry point to one marked line by one idiom of those that a survey of
real TPU code counted; one line less in the chain, and the program would be silent.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

NESTED = """
def inner(x):
    return tf.tpu.outside_compilation(tf.floor, x)  # error: TPU201
"""

PROGRAMS = {
    "a nested function that shadows a module's": V1
    + """
def host(x):
    return tf.floor(x)

def computation(x):
    def host(x):
        return tf.tpu.outside_compilation(tf.floor, x)  # error: TPU201
    return tf.tpu.outside_compilation(host, x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    # Possible: with TensorFlow's newer control flow the body is a function, and the inner wins.
    "a decorator on the callee": V1
    + NESTED.replace("error", "possible")
    + """
from tensorflow.python.tpu import training_loop

def on_device_training_loop(function):
    def loop(*args):
        return training_loop.repeat(4, function, args)
    return loop

@on_device_training_loop
def computation(x):
    return [tf.tpu.outside_compilation(inner, x)]

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a decorator that makes a host function": V1
    + """
import functools

def on_host(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return tf.tpu.outside_compilation(function, *args, **kwargs)  # error: TPU201
    return wrapper

@on_host
def low(x):
    return tf.floor(x)

@on_host
def high(x):
    return low(x) + 1.0

def computation(x):
    return high(x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "forwarding wrappers three deep": V1
    + NESTED
    + """
def first(function, *args, **kwargs):
    return tf.tpu.outside_compilation(function, *args, **kwargs)

def second(function, *args, **kwargs):
    return first(function, *args, **kwargs)

def third(function, *args, **kwargs):
    return second(function, *args, **kwargs)

def computation(x):
    return third(inner, x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "methods of self and of its attributes": V1
    + """
class Host:
    def floor(self, x):
        return tf.tpu.outside_compilation(tf.floor, x)  # error: TPU201

class Model:
    def __init__(self):
        self.host = Host()

    def on_host(self, x):
        return self.host.floor(x)

    def computation(self, x):
        return tf.tpu.outside_compilation(self.on_host, x)

    def build(self):
        return tf.tpu.rewrite(lambda x: self.computation(x), [tf.zeros([4])])

Model().build()
""",
    "a function returned by a builder": V1
    + NESTED
    + """
def model_fn_builder(scale):
    def model_fn(x):
        return tf.tpu.outside_compilation(inner, x * scale)
    return model_fn

tf.tpu.rewrite(model_fn_builder(2.0), [tf.zeros([4])])
""",
    "lambdas in a variable": V1
    + NESTED
    + """
host = lambda x: inner(x)
computation = lambda x: tf.tpu.outside_compilation(host, x)
tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "functools.partial of entry and host function": V1
    + """
from functools import partial

def inner(scale, x):
    return tf.tpu.outside_compilation(tf.floor, x * scale)  # error: TPU201

def computation(host, x):
    return tf.tpu.outside_compilation(host, x)

tf.tpu.rewrite(partial(computation, partial(inner, 2.0)), [tf.zeros([4])])
""",
    "the callee by keyword": V1
    + NESTED
    + """
def computation(x):
    return tf.tpu.outside_compilation(inner, x)

tf.tpu.replicate(inputs=[[tf.zeros([4])]], computation=computation)
""",
    "a module alias": """
import tensorflow.compat.v1 as tf
from tensorflow.python.tpu import tpu as tpu_lib

def inner(x):
    return tpu_lib.outside_compilation(tf.floor, x)  # error: TPU201

def computation(x):
    return tpu_lib.outside_compilation(inner, x)

tpu_lib.rewrite(computation, [tf.zeros([4])])
""",
    "a shim of the project, known by its suffix": """
from lingvo import compat as tf

def inner(x):
    return tf.tpu.outside_compilation(tf.floor, x)  # error: TPU201

def computation(x):
    return tf.tpu.outside_compilation(inner, x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a scrubbed prefix": """
from REDACTED.tensorflow.contrib import tpu
import REDACTED.tensorflow as tf

def inner(x):
    return tpu.outside_compilation(tf.floor, x)  # error: TPU201

def computation(x):
    return tpu.outside_compilation(inner, x)

tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a re-export of a package": """
# file: shop/__init__.py
from shop.hosts import inner
# file: shop/hosts.py
import tensorflow.compat.v1 as tf

def inner(x):
    return tf.tpu.outside_compilation(tf.floor, x)  # error: TPU201
# file: train.py
import shop
import tensorflow.compat.v1 as tf

def computation(x):
    return tf.tpu.outside_compilation(shop.inner, x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a src layout": """
# file: src/shop/__init__.py
# file: src/shop/hosts.py
import tensorflow.compat.v1 as tf

def inner(x):
    return tf.tpu.outside_compilation(tf.floor, x)  # error: TPU201
# file: scripts/train.py
import tensorflow.compat.v1 as tf
from shop import hosts

def computation(x):
    return tf.tpu.outside_compilation(hosts.inner, x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "relative imports": """
# file: shop/__init__.py
# file: shop/hosts/__init__.py
# file: shop/hosts/floor.py
import tensorflow.compat.v1 as tf

def inner(x):
    return tf.tpu.outside_compilation(tf.floor, x)  # error: TPU201
# file: shop/models/__init__.py
# file: shop/models/train.py
import tensorflow.compat.v1 as tf
from ..hosts import floor as floors

def computation(x):
    return tf.tpu.outside_compilation(floors.inner, x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "an inherited method": V1
    + """
class Base:
    def on_host(self, x):
        return self.floor(x)

    def floor(self, x):
        return tf.tpu.outside_compilation(tf.floor, x)  # error: TPU201

class Model(Base):
    def computation(self, x):
        return tf.tpu.outside_compilation(self.on_host, x)

model = Model()
tf.tpu.rewrite(model.computation, [tf.zeros([4])])
""",
    "a table of functions with literal keys": V1
    + NESTED
    + """
HOSTS = {"floor": inner, "none": None}

def computation(x):
    return tf.tpu.outside_compilation(HOSTS["floor"], x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a function that calls itself on the way": V1
    + """
import os
def inner(x, depth):
    if depth:
        return inner(x, depth - 1)
    return tf.tpu.outside_compilation(tf.floor, x)  # possible: TPU201

def computation(x):
    return tf.tpu.outside_compilation(inner, x, int(os.environ.get("DEPTH", "0")))

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "tf.function called as a function": """
import tensorflow as tf

def inner(x):
    return tf.compat.v1.tpu.outside_compilation(tf.floor, x)  # possible: TPU201

def computation(x):
    return tf.compat.v1.tpu.outside_compilation(inner, x)

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver(""))

def step(x):
    return strategy.run(computation, (x,))

train = tf.function(step)
train(tf.zeros([4]))
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_fault_is_found_through_the_idiom(program: str, tmp_path: Path) -> None:
    assert reported(program, tmp_path, ["TPU2"]) == expected(program, ["TPU2"])


def test_a_configured_wrapper_is_a_cluster(tmp_path: Path) -> None:
    """Its definition cannot be read: the configuration says what it does."""
    program = """
import closed
import tensorflow.compat.v1 as tf

def inner(x):
    return closed.on_host(tf.floor, x)  # error: TPU201

def computation(x):
    return closed.on_host(inner, x)

tf.tpu.rewrite(computation, [tf.zeros([4])])
"""
    findings = reported(program, tmp_path, ["TPU2"], wrappers=("closed.on_host",))
    assert findings == expected(program, ["TPU2"])


def test_wraps_calls_no_function(tmp_path: Path) -> None:
    """`functools.wraps(function)` decorates: only what it decorates calls the function."""
    program = """
import functools
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)

def compiled(function, **options):
    @tf.function(**options)
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner

def steps(iterator):
    strategy.run(tf.identity, args=(next(iterator),))

compiled(steps)(iter([1.0]))
"""
    assert reported(program, tmp_path, ["TPU7"]) == []
