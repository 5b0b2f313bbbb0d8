"""Programs with TPU303, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import REWRITTEN, STRATEGY, TRAINED, V1

PROGRAMS = {
    "a name that traced control flow sets again after the loop": V1
    + """
class Decoder:
    def body(self, i, state):
        self.last = state * 0.5
        return i + 1, self.last

    def decode(self, state):
        _, final = tf.while_loop(lambda i, state: i < 8, self.body, [0, state])
        self.last = final
        return self.last * 2.0

def build(state):
    decoder = Decoder()
    return tf.tpu.rewrite(lambda value: decoder.decode(value), [state])
""",
    "the predicate of a loop is the loop's": V1
    + """
def computation(x):
    return tf.while_loop(lambda value: tf.reduce_sum(value) < 9.0, lambda value: value * 2.0, [x])

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "an escape that may be another tensor": V1
    + """
def computation(x, keep):
    last = x
    def branch():
        nonlocal last
        if keep:
            last = x * 2.0
        return x
    y = tf.cond(x > 0.0, branch, lambda: x)
    return y + last

def build(x, y, keep):
    return tf.tpu.replicate(lambda value: computation(value, keep), [[x], [y]])
""",
    "an attribute that each branch sets anew": V1
    + """
class Gan:
    def losses(self, x, flag):
        if flag:
            self.loss = x * 2.0
        else:
            self.loss = x * 3.0
        return self.loss + 1.0

    def step(self, x, flag):
        first = tf.cond(x > 0.0, lambda: self.losses(x, flag), lambda: x)
        return tf.cond(x > 1.0, lambda: self.losses(first, flag), lambda: first)

def build(x, y, flag):
    gan = Gan()
    return tf.tpu.replicate(lambda value: gan.step(value, flag), [[x], [y]])
""",
    "a branch's own list": V1
    + """
def computation(x):
    def layers():
        kept = []
        for size in (1, 2):
            kept.append(x * size)
        return tf.add_n(kept), kept[0]
    total, first = tf.cond(x > 0.0, layers, lambda: (x, x))
    return total + first

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "escapes from a branch within a loop, and from a dictionary": V1
    + """
def computation(x):
    seen = {}
    def body(value):
        def branch():
            seen["half"] = value * 0.5
            return value
        value = tf.cond(tf.reduce_sum(value) > 0.0, branch, lambda: value)
        return value * seen["half"]  # error: TPU303
    return tf.while_loop(lambda value: tf.reduce_sum(value) < 9.0, body, [x])

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "a branch in a Python loop, that has ended too": V1
    + """
def computation(x):
    kept = []
    for scale in (1.0, 2.0):
        def branch():
            kept.append(x * scale)
            return x
        x = tf.cond(tf.reduce_sum(x) > 0.0, branch, lambda: x)
    return kept[0] + x  # error: TPU303
"""
    + REWRITTEN,
    "an attribute that Python's own if sets again": STRATEGY
    + """
class State:
    pass

def step(x):
    state = State()
    state.last = x
    if tf.reduce_sum(x) > 0.0:
        state.last = x * 2.0
    return state.last + 1.0
"""
    + TRAINED,
    "given to a function that is not seen: it may take no tensor": V1
    + """
from library import show

def computation(x):
    kept = []

    def branch():
        kept.append(x * 2.0)
        return x

    y = tf.cond(tf.reduce_sum(x) > 0.0, branch, lambda: x)
    show(kept[0])  # possible: TPU303
    return y
"""
    + REWRITTEN,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
