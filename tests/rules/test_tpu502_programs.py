"""Programs with TPU502, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import REWRITTEN_PAIR, V1

PROGRAMS = {
    "harmless findings in the Object Detection API: a switch for static shapes": """
        import sys
        import tensorflow.compat.v1 as tf
        import library
        class Sampler:
            def sample(self, x, use_static_shapes, is_short):
                count = tf.reduce_sum(tf.cast(x > 0.0, tf.int32))
                if is_short:
                    return tf.slice(x, [0], tf.stack([count]))  # possible: TPU502
                if not use_static_shapes:
                    return tf.slice(x, [0], tf.stack([count]))
                return x
        class Whole:
            def sample(self, x, use_static_shapes, is_short):
                return x
        def computation(x):
            sampler = {"some": Sampler(), "all": Whole()}[sys.argv[1]]
            return sampler.sample(x, library.is_static, library.is_short)
        result = tf.tpu.rewrite(computation, [tf.ones([8])])
    """,
    "sizes that follow from shapes": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            rows = tf.shape(x)[0]
            count = tf.reduce_sum(tf.ones_like(x))
            a = tf.zeros([rows, tf.size(x)])
            b = tf.reshape(x, [rows * 2, -1])
            c = tf.range(x.shape[0])
            return tf.tile(a, [rows, 1]), b, c, tf.fill([tf.cast(count, tf.int32)], 1.0)
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "sizes of scattered rows, segments, samples, boxes, frames and arrays": """
        import tensorflow.compat.v1 as tf
        def computation(x, lengths):
            n = [tf.reduce_max(lengths * factor) for factor in range(6)]
            a = tf.scatter_nd([[0]], [1.0], [n[0]])  # error: TPU502
            b = tf.math.unsorted_segment_sum(x, lengths, num_segments=n[1])  # error: TPU502
            c = tf.random.categorical(x, n[2])  # error: TPU502
            d = tf.image.non_max_suppression(x, x[0], n[3])  # error: TPU502
            e = tf.signal.frame(x, n[4], 1)  # error: TPU502
            f = tf.TensorArray(tf.float32, size=n[5])  # error: TPU502
            return a, b, c, d, e, f.stack()
        result = tf.tpu.rewrite(computation, [tf.ones([6, 16]), tf.ones([6], tf.int32)])
    """,
    "sizes of such parts that are known": """
        import tensorflow.compat.v1 as tf
        def computation(x, lengths):
            a = tf.scatter_nd([[0]], [1.0], tf.shape(x)[:1])
            b = tf.math.unsorted_segment_sum(x, lengths, num_segments=x.shape[0])
            c = tf.split(x, 2, axis=1) + tf.split(x, [4, 12], axis=1)
            d = tf.math.top_k(x, k=tf.reduce_max(lengths))  # it has a kernel for this
            f = tf.TensorArray(tf.float32, size=tf.shape(x)[0])
            return a, b, c, d, f.stack(), "a b".split(" ")[0].count("a")
        result = tf.tpu.rewrite(computation, [tf.ones([6, 16]), tf.ones([6], tf.int32)])
    """,
    "a mask with its length": """
        import tensorflow.compat.v1 as tf
        def computation(lengths):
            return tf.sequence_mask(lengths, maxlen=8)
        result = tf.tpu.rewrite(computation, [tf.constant([2])])
    """,
    "a confusion matrix": """
        import tensorflow.compat.v1 as tf
        def computation(labels):
            known = tf.math.confusion_matrix(labels, labels, num_classes=4)
            return known, tf.math.confusion_matrix(labels, labels)  # error: TPU502
        result = tf.tpu.rewrite(computation, [tf.constant([2])])
    """,
    "a size out of a condition": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            n = tf.cond(tf.reduce_sum(x) > 0.0, lambda: 1, lambda: 2)
            return tf.one_hot(x, tf.reduce_max(tf.cast(x, tf.int32)))  # error: TPU502
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "sizes under soft placement": """
import tensorflow as tf

tf.config.set_soft_device_placement(True)
strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())

def replica_step(x):
    return tf.zeros([tf.reduce_max(x)])  # possible: TPU502

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
    size, other, third = (tf.reduce_max(tf.cast(z, tf.int32)) for z in (x, y, x + y))
    either = size if len(sys.argv) > 1 else 4
    a = tf.fill([either], 1.0)  # possible: TPU502
    b = tf.fill([other, either], 1.0)  # possible: TPU502
    shape = []
    for _ in found:
        shape.append(third)
    c = tf.fill(shape, 1.0)  # possible: TPU502
    d = tf.sequence_mask([3, 4])
    e = tf.sequence_mask(**options)
    f = tf.transpose(x)
    g = tf.repeat(x, 4)
    h = cv.resize(x, size)
    i = tf.initializers.truncated_normal(size)
    return a, b, c, d, e, f, g, h, i
"""
    + REWRITTEN_PAIR,
    # A false alarm: the option is there to be given on a TPU.
    "a size that may be a setting": V1
    + """
def computation(x, y):
    size = tf.reduce_max(tf.cast(x, tf.int32))
    if tf.flags.FLAGS.length:
        size = tf.flags.FLAGS.length
    return tf.fill([size], 1.0), tf.tile(y, [size])
"""
    + REWRITTEN_PAIR,
    "sizes that are data, by every way to give them": V1
    + """
from project.compat import v1

def largest(x):
    return tf.reduce_max(tf.cast(x, tf.int32))

def computation(x, y):
    a = tf.sequence_mask(largest(x + 0), maxlen=None)  # error: TPU502
    b = tf.sequence_mask(largest(x + 1))  # error: TPU502
    c = v1.reshape(x, [largest(x + 2)])  # error: TPU502
    d = tf.truncated_normal([largest(x + 3)])  # error: TPU502
    e = tf.random.normal([largest(x + 4)])  # error: TPU502
    f = tf.image.resize(x, [8, largest(x + 5)])  # error: TPU502
    g = tf.cond(tf.reshape(y, [largest(x + 6)]), lambda: tf.add(x, 1.0), lambda: y)  # error: TPU502
    return a, b, c, d, e, f, g
"""
    + REWRITTEN_PAIR,
    # One cause was reported as often as it was used, in a repository 21 times.
    "one size, where it is needed first": V1
    + """
def computation(x, y):
    size, other = tf.reduce_max(tf.cast(x, tf.int32)), tf.reduce_max(tf.cast(y, tf.int32))
    a = tf.fill([size], 1.0)  # error: TPU502
    b = tf.reshape(x, [size, -1])
    c = tf.tile(y, [size])
    return a, b, c, tf.fill([size, other], 1.0), tf.fill([other], 1.0)  # error: TPU502
"""
    + REWRITTEN_PAIR,
    "one size, where it is needed for sure": V1
    + """
import sys

def computation(x, y):
    size = tf.reduce_max(tf.cast(x, tf.int32))
    a = tf.fill([size if len(sys.argv) > 1 else 4], 1.0)
    return a, tf.fill([size], 1.0), tf.tile(y, [size])  # error: TPU502
"""
    + REWRITTEN_PAIR,
    "tensors that one loop makes longer": V1
    + """
def computation(x, y):
    def body(i, a, b):
        a = tf.concat([a, x], 0)  # error: TPU502
        b = tf.concat([b, y], 0)
        return i + 1, a, b

    return tf.while_loop(lambda i, a, b: i < 4, body, [0, x, y])
"""
    + REWRITTEN_PAIR,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
