"""Programs with TPU208, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "a decorator may change what the function takes": V1
    + """
import helpers

@helpers.with_context
def on_host(context, x):
    return x

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a method is given an argument too many, a class one too few": V1
    + """
class Meter:
    def update(self, loss):
        return loss

    def __call__(self, loss, step):
        return loss

meter = Meter()

def computation(x):
    a = tf.tpu.outside_compilation(meter.update, x * 2.0, x)  # error: TPU208
    b = tf.tpu.outside_compilation(meter, x * 2.0)  # error: TPU208
    return a + b

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
