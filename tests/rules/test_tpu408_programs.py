"""Programs with TPU408, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
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
    "cores of the host, and cores that are not seen": V1
    + """
def on_host(x):
    with tf.device(tf.tpu.core(1)):
        return x

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0) + 1.0

def on_core(x, place, number=None):
    with tf.device(tf.tpu.core(*place)):
        x = x * 2.0
    with tf.device(tf.tpu.core(number)):
        return x * 2.0

def build(x, place):
    tf.tpu.rewrite(computation, [x])
    return tf.tpu.rewrite(lambda value: on_core(value, place), [x])
""",
    "cores beside the host, and replicas that may not be built": V1
    + """
import sys

def computation(x):
    with tf.device(tf.tpu.core(1)):
        x = x * 2.0
    return tf.tpu.outside_compilation(tf.math.log, x) + 1.0

def sharded(x, number):
    return tf.tpu.shard(lambda value: value, [x], num_shards=number)  # possible: TPU408

def plain(x, number):
    return x

def build(x):
    tf.tpu.rewrite(computation, [x])  # possible: TPU408
    return (sharded if len(sys.argv) > 1 else plain)(x, 3)
""",
    "odd numbers of replicas, counted": V1
    + """
def build(x):
    tf.tpu.shard(tf.sin, [x], num_shards=3)  # error: TPU408
    tf.tpu.replicate(tf.sin, [[x], [x], [x]])  # error: TPU408
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
