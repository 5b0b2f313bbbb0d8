"""The arguments a computation is traced with, seen through what fails without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import STRATEGY, V1

COMPUTATION = """
import sys
import data
from tensorflow.python.tpu import tpu_feed, training_loop

x, some, rows = tf.zeros([8, 4]), [], []
for each in sys.argv:
    some.append(x)
    rows.append([x, x])
flag = len(sys.argv) > 1
queue = tpu_feed.InfeedQueue(tuple_types=[tf.float32])

def faulty():
    return tf.as_string(tf.zeros([]))

def computation(first=None, second=None):
    (faulty if second is None else tf.no_op)()
    return first

def dictionary(first):
    (faulty if first["a"] is None else tf.no_op)()
    return first

"""
MAYBE = "data.inputs()"

# The call, and how sure it is that the computation is traced without a second argument.
CALLS = [
    ("tf.tpu.rewrite(computation, [x])", "definite"),
    ("tf.tpu.rewrite(computation, x)", "definite"),
    ("tf.tpu.rewrite(computation, None)", "definite"),
    ("tf.tpu.rewrite(computation)", "definite"),
    ("tf.tpu.rewrite(computation, inputs=[x])", "definite"),
    ("tf.tpu.rewrite(computation, [x, x])", ""),
    ("tf.tpu.rewrite(computation, [x, 1])", ""),
    ("tf.tpu.rewrite(computation, [x, None])", "definite"),
    ("tf.tpu.rewrite(computation, [x, x if flag else None])", "possible"),
    ("tf.tpu.shard(computation, [x])", "definite"),
    ("tf.tpu.shard(computation, [x, x])", ""),
    ("tf.tpu.batch_parallel(computation, [x, x])", ""),
    ("tf.tpu.replicate(computation, [[x], [x]])", "definite"),
    ("tf.tpu.replicate(computation, [[x, x]])", ""),
    ("tf.tpu.replicate(computation, rows)", ""),
    ("tf.tpu.replicate(computation, [[x, None]])", "definite"),
    ("tf.tpu.replicate(computation, [None])", "definite"),
    ("tf.tpu.replicate(computation, [])", ""),
    ("tf.tpu.replicate(computation)", "definite"),
    ("tf.tpu.replicate(computation, [[x]], None)", "definite"),
    ("tf.tpu.rewrite(dictionary, [{'a': None}])", "definite"),
    ("tf.tpu.rewrite(dictionary, [{'a': x}])", ""),
]
# Calls that may give two inputs, although the computation requires only one.
NOT_SEEN = [
    "tf.tpu.rewrite(computation, data.inputs())",
    "tf.tpu.rewrite(computation, some)",
    "tf.tpu.shard(computation, some)",
    "tf.tpu.replicate(computation, data.inputs())",
    "tf.tpu.replicate(computation, some)",
    "tf.tpu.replicate(computation, [some])",
    "tf.tpu.replicate(computation, [data.row()])",
    "tf.tpu.replicate(computation, [[x]], infeed_queue=queue)",
    "tf.tpu.replicate(computation, [[x]], queue)",
    "tf.tpu.rewrite(computation, [x], queue)",
    "tf.tpu.batch_parallel(computation, [x], 8, queue)",
    "tf.tpu.shard(computation, [x], 8, None, True, None, queue)",
]
STEP = """
import data

flag = data.flag()

def faulty():
    return tf.strings.as_string(tf.zeros([]))

def step(first, second=None):
    (faulty if second is None else tf.no_op)()
    return first

@tf.function
def train(x):
    return {call}
"""
RUNS = [
    ("strategy.run(step, args=(x,))", "definite"),
    ("strategy.run(step, (x,))", "definite"),
    ("strategy.run(step, (x, x))", ""),
    ("strategy.run(step, args=(x,), kwargs=None)", "definite"),
    ("strategy.run(step, args=(x,), kwargs={'second': x})", ""),
    ("strategy.run(step, args=(x,), kwargs={**data.kwargs(x)})", "possible"),
    ("strategy.run(step, args=[x] + data.more(x))", "possible"),
    ("strategy.run(step, args=data.args(x))", "possible"),
    ("strategy.run(step, args=(x,) if flag else (x, x))", "possible"),
    ("strategy.run(step, kwargs={'first': x})", "definite"),
    ("strategy.run(step, kwargs=data.kwargs(x))", "possible"),
    ("strategy.run(step, args=(x,), kwargs=data.kwargs(x))", "possible"),
    ("strategy.run(step, args=None, kwargs={'first': x})", "definite"),
    ("strategy.experimental_run_v2(step, args=(x,))", "definite"),
]


def certainty_of(text: str, folder: Path) -> list[str]:
    return certainties(text, folder, "TPU501")


@pytest.mark.parametrize(("call", "certainty"), CALLS)
def test_the_inputs_are_the_arguments(call: str, certainty: str, tmp_path: Path) -> None:
    text = V1 + COMPUTATION + call
    assert certainty_of(text, tmp_path) == ([certainty] if certainty else [])


@pytest.mark.parametrize("call", NOT_SEEN)
def test_inputs_that_are_not_seen_may_be_more(call: str, tmp_path: Path) -> None:
    assert certainty_of(V1 + COMPUTATION + call, tmp_path) == ["possible"]


@pytest.mark.parametrize(("call", "certainty"), RUNS)
def test_the_arguments_of_a_step(call: str, certainty: str, tmp_path: Path) -> None:
    text = STRATEGY + STEP.replace("{call}", call)
    assert certainty_of(text, tmp_path) == ([certainty] if certainty else [])
