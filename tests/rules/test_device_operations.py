"""Operations, sizes and shapes that device code certainly or possibly cannot have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import V1

FAMILIES = ["TPU501", "TPU502"]
REWRITE = "\ntf.tpu.rewrite(computation, [tf.zeros([4]), tf.zeros([4])])\n"

PROGRAMS = {
    "operations without arguments, of constants, and of no host": V1
    + """
def computation(x, y):
    now = tf.timestamp()  # error: TPU501
    word = tf.strings.upper("tpu")  # possible: TPU501
    tf.print("once")  # error: TPU501
    return tf.image.extract_glimpse(x, [2, 2], y), now  # possible: TPU501
"""
    + REWRITE,
    "a table that is filled on the device and asked on the host": V1
    + """
def computation(x, y):
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
    found = tf.tpu.outside_compilation(lambda key: table.lookup(key), x)
    return found, table.lookup(y)  # error: TPU501
"""
    + REWRITE,
    "a summary beside a writer that only the host has": """
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
writer = tf.summary.create_file_writer("gs://logs")

def on_host(x):
    with writer.as_default():
        tf.summary.scalar("x", x, step=0)

def replica_step(x):
    tf.compat.v1.tpu.outside_compilation(on_host, x)
    tf.summary.scalar("x", x, step=0)  # possible: TPU501
    return x

@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))
""",
    "sizes under soft placement": """
import tensorflow as tf

tf.config.set_soft_device_placement(True)
strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())

def replica_step(x):
    return tf.zeros([tf.reduce_max(x)])

@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))
""",
    "sizes that may be constants": V1
    + """
import sys

from project import found
from project.compat import cv, v1

def computation(x, y, **options):
    size = tf.reduce_max(tf.cast(x, tf.int32))
    either = size if len(sys.argv) > 1 else 4
    a = tf.fill([either], 1.0)  # possible: TPU502
    b = tf.fill([size, either], 1.0)  # possible: TPU502
    shape = []
    for _ in found:
        shape.append(size)
    c = tf.fill(shape, 1.0)  # possible: TPU502
    d = tf.sequence_mask([3, 4])
    e = tf.sequence_mask(**options)
    f = tf.transpose(x)
    g = tf.repeat(x, 4)
    h = cv.resize(x, size)
    i = tf.initializers.truncated_normal(size)
    return a, b, c, d, e, f, g, h, i
"""
    + REWRITE,
    "sizes that are data, by every way to give them": V1
    + """
from project.compat import v1

def computation(x, y):
    size = tf.reduce_max(tf.cast(x, tf.int32))
    a = tf.sequence_mask(size, maxlen=None)  # error: TPU502
    b = tf.sequence_mask(size)  # error: TPU502
    c = v1.reshape(x, [size])  # error: TPU502
    d = tf.truncated_normal([size])  # error: TPU502
    e = tf.random.normal([size])  # error: TPU502
    f = tf.image.resize(x, [size, size])  # error: TPU502
    g = tf.cond(tf.reshape(y, [size]), lambda: tf.add(x, 1.0), lambda: y)  # error: TPU502
    return a, b, c, d, e, f, g
"""
    + REWRITE,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_what_is_sure_is_an_error(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)
