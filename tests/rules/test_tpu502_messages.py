"""The messages of TPU502, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program
from tests.rules.openings import CALLABLES

CALLS = {
    "tf.tpu.rewrite(lambda: tf.fill([tf.reduce_max(tf.cast(tf.random.uniform([2]), tf.int32))],"
    " 1.0))": "`dims` of `fill` must be known when the computation is compiled, but depends on"
    " data",
    "tf.tpu.rewrite(lambda n: tf.range(tf.reduce_max(n)), [x])": "`limit` of `range` must be"
    " known when the computation is compiled, but depends on data",
    "tf.tpu.rewrite(lambda n: tf.range(tf.reduce_max(n), 4), [x])": "`start` of `range` must be"
    " known when the computation is compiled, but depends on data",
}


@pytest.mark.parametrize("call", CALLS)
def test_the_message_of_the_call(call: str, tmp_path: Path) -> None:
    (found,) = findings(program(CALLABLES + call), tmp_path)
    assert (found.code, found.message) == ("TPU502", CALLS[call])
