"""The text that the fixes of TPU201 and TPU203 write, and where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.fixing import after

NESTED = """
import tensorflow.compat.v1 as tf


def half(x, by=2.0):
    return x / by


def outer(x):
    return {call}


tf.tpu.rewrite(lambda x: tf.tpu.outside_compilation(outer, x), [tf.zeros([4])])
"""
IN_MAP = """
import tensorflow.compat.v1 as tf


def half(x, by=2.0):
    return x / by


tf.data.Dataset.range(4).map(lambda x: {call})
"""
FORWARDED = [
    ("tf.tpu.outside_compilation(half, x)", "half(x)"),
    ("tf.tpu.outside_compilation(half, x, by=3.0)", "half(x, by=3.0)"),
    ("tf.tpu.outside_compilation(lambda v: v + 1.0, x)", "(lambda v: v + 1.0)(x)"),
    ("tf.tpu.outside_compilation(half, *[x])", "half(*[x])"),
    ("tf.tpu.outside_compilation(half or abs, x)", "(half or abs)(x)"),
    (
        "tf.tpu.outside_compilation(\\n        half,\\n        x,  # the input\\n    )",
        "half(x,  # the input\\n    )",
    ),
]
KEPT = [
    "tf.tpu.outside_compilation(computation=half, x=x)",
    "tf.tpu.outside_compilation(  # on the host\\n        half, x)",
]


@pytest.mark.parametrize(("call", "plain"), FORWARDED)
@pytest.mark.parametrize(("text", "code"), [(NESTED, "TPU201"), (IN_MAP, "TPU203")])
def test_the_host_function_is_called(
    text: str, code: str, call: str, plain: str, tmp_path: Path
) -> None:
    call, plain = (part.replace("\\n", "\n") for part in (call, plain))
    assert after(text.format(call=call), code, tmp_path) == text.format(call=plain).lstrip("\n")


@pytest.mark.parametrize("call", KEPT)
def test_a_call_that_would_lose_something_is_left_alone(call: str, tmp_path: Path) -> None:
    text = NESTED.format(call=call.replace("\\n", "\n"))
    assert after(text, "TPU201", tmp_path) == text.lstrip("\n")
