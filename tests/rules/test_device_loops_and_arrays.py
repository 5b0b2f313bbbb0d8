"""Loops, growing arrays and Python side effects on the device: what is sure, and what may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

FAMILIES = ["TPU503", "TPU505", "TPU506"]
TPU = """
import logging
import random
import sys
import time

import numpy as np
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())

@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))

"""
SOFT = TPU + "tf.config.set_soft_device_placement(True)\n"

PROGRAMS = {
    "arrays of every kind": TPU
    + """
def replica_step(x, dynamic=True):
    fixed = tf.TensorArray(tf.float32, 0, dynamic_size=False)
    fixed = fixed.write(0, x)
    unknown = tf.TensorArray(tf.float32, size=0, dynamic_size=len(sys.argv) > 1)
    unknown = unknown.write(0, x)
    filled = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    filled = filled.unstack(x)
    both = tf.TensorArray(tf.float32, size=0, dynamic_size=True)  # error: TPU503
    both.unstack(x)
    both.write(9, x)
    unused = tf.TensorArray(tf.float32, size=0, dynamic_size=True)  # possible: TPU503
    either = tf.TensorArray(tf.float32, size=0, dynamic_size=True)  # possible: TPU503
    either.read(0)
    default = tf.TensorArray(tf.float32, dynamic_size=True)  # error: TPU503
    default = default.write(0, x)
    return fixed.stack(), filled.stack(), default.stack()
""",
    "an array that another one is beside": TPU
    + """
def replica_step(x):
    filled = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    filled = filled.unstack(x)
    sized = tf.TensorArray(tf.float32, size=4)
    sized = sized.write(0, x)
    return filled.stack() + sized.stack()
""",
    "operations in a loop that the compiler refuses": TPU
    + """
def replica_step(x):
    for _ in tf.range(4):
        tf.print(x)
    return x
""",
    "operations in a loop under soft placement": SOFT
    + """
def replica_step(x, y):
    tf.print(x)
    for _ in tf.range(4):
        x = tf.math.add(x, 1.0)
        tf.print(x)  # error: TPU505
        tf.summary.scalar("x", x)  # possible: TPU505
        x = tf.image.extract_glimpse(x, [2, 2], y)  # possible: TPU505
    return x
""",
    "clusters in the host function of a loop": TPU
    + """
def inner(x):
    return tf.math.lgamma(x)

def on_host(x):
    for _ in tf.range(4):
        x = tf.compat.v1.tpu.outside_compilation(inner, x)
    return x

def replica_step(x):
    x = tf.compat.v1.tpu.outside_compilation(on_host, x)
    for _ in tf.range(4):
        x = tf.compat.v1.tpu.outside_compilation(on_host, x)  # error: TPU505
    return x
""",
    "what is drawn for good, logged, or used on the host": TPU
    + """
def on_host(x):
    return tf.add(x, time.time())

def replica_step(x):
    started = time.time()
    tf.compat.v1.tpu.outside_compilation(lambda: tf.print("started", started))
    kernel = tf.Variable(np.random.normal(size=[4]))
    logging.info("drawn %f", random.random())
    tf.compat.v1.logging.info("drawn %f", random.random())
    return tf.compat.v1.tpu.outside_compilation(on_host, x * kernel)
""",
    "a seed beside other calls": TPU
    + """
def replica_step(x):
    np.random.seed(0)
    return tf.roll(x, np.random.randint(4), 0)
""",
    "a seed that is no generator's": TPU
    + """
from farm import field

def replica_step(x):
    field.seed(0)
    return tf.roll(x, np.random.randint(4), 0)  # error: TPU506
""",
    "what may be a tensor is shown": TPU
    + """
kept = []

def replica_step(x):
    shown = x if len(sys.argv) > 1 else 4
    print(shown)  # possible: TPU506
    print(x, shown)  # error: TPU506
    kept.append(shown)  # possible: TPU506
    return x
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_what_is_sure_is_an_error(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)
