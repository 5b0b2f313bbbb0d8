"""The messages of TPU502, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program, source_of
from tests.rules.openings import CALLABLES

REMEDY = "use a static shape, and mask what is unused"
CALLS = {
    "tf.tpu.rewrite(lambda: tf.fill([tf.reduce_max(tf.cast(tf.random.uniform([2]), tf.int32))],"
    " 1.0))": "`dims` of `fill` must be known when the computation is compiled, but depends on"
    " data: " + REMEDY,
    "tf.tpu.rewrite(lambda n: tf.range(tf.reduce_max(n)), [x])": "`limit` of `range` must be"
    " known when the computation is compiled, but depends on data: " + REMEDY,
    "tf.tpu.rewrite(lambda n: tf.range(tf.reduce_max(n), 4), [x])": "`start` of `range` must be"
    " known when the computation is compiled, but depends on data: " + REMEDY,
}


@pytest.mark.parametrize("call", CALLS)
def test_the_message_of_the_call(call: str, tmp_path: Path) -> None:
    (finding,) = findings(program(CALLABLES + call), tmp_path)
    assert (finding.code, finding.message) == ("TPU502", CALLS[call])


ELSEWHERE = """
# file: sizes.py
import tensorflow as tf


def resize(image, size):
    return tf.image.resize(image, size)
# file: main.py
import tensorflow.compat.v1 as tf
import sizes


def computation(image, box):
    first, second = box[0], box[1]
    names = [first, second, box[2], box[3]]
    rows = [names[0], names[1], names[2], names[3]]
    return sizes.resize(image, [box[2], tf.cast(tf.reduce_max(image), tf.int32)])


result = tf.tpu.rewrite(computation, [tf.ones([1, 8, 8, 3]), tf.constant([0, 1, 2, 3])])
"""


def test_error_found_in_deeplab2_the_list_is_written_in_another_module(tmp_path: Path) -> None:
    (finding,) = findings(program(ELSEWHERE), tmp_path)
    assert (finding.code, source_of(finding)) == ("TPU502", "size")
    assert Path(finding.span.filename).name == "sizes.py"
