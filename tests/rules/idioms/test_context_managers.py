"""User-defined context managers, and the context of their blocks (TPU302, a cleared context)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, certainties
from tests.rules.openings import V1

BLOCK = """
import contextlib
import sys

flag = len(sys.argv) > 1

@contextlib.contextmanager
def clears():
    with tf.control_dependencies(None):
        yield

@contextlib.contextmanager
def may_clear(on=False, name=None):
    if on:
        with tf.control_dependencies(None):
            yield name
    else:
        yield name

@contextlib.contextmanager
def names():
    yield

@contextlib.contextmanager
def gives(value):
    with tf.name_scope("a"):
        yield value

class Clears:
    def __enter__(self):
        return tf.control_dependencies(None)

    def __exit__(self, *error):
        tf.no_op()

def host(v):
    return v

def computation(x):
    z = x * 2.0
    with {manager}:
        y = tf.tpu.outside_compilation(host, z)
    return y + 1.0

tf.tpu.rewrite(computation, [tf.zeros([8, 4])])
"""

MANAGERS = {
    "a function that clears": ("clears()", "definite"),
    "a function that does nothing": ("names()", ""),
    "a function that may clear, and does": ("may_clear(True)", "definite"),
    "a function that may clear, and does, by name": ("may_clear(on=True)", "definite"),
    "a function that may clear, and does not": ("may_clear(name='a')", ""),
    "a function that may clear, and may": ("may_clear(flag)", "possible"),
    "one function or another": ("clears() if flag else names()", "possible"),
    "one function or another, both of which clear": (
        "clears() if flag else may_clear(1)",
        "definite",
    ),
    "two functions": ("names(), clears()", "definite"),
    "a function that gives what clears": (
        "gives(tf.control_dependencies(None)) as held, held",
        "definite",
    ),
    "an object that gives what clears": ("Clears() as held, held", "definite"),
    "an object that clears by nobody": ("Clears()", ""),
    "a stack": ("contextlib.ExitStack() as stack", ""),
    "no dependencies": ("tf.control_dependencies(None)", "definite"),
    "some dependencies": ("tf.control_dependencies([z])", ""),
    "some dependencies or none": ("tf.control_dependencies([z] if flag else None)", ""),
    "what is not seen": ("sys.scope()", ""),
}


@pytest.mark.parametrize("name", MANAGERS)
def test_the_block_is_in_the_context_as_certainly_as_it_is_entered(
    name: str, tmp_path: Path
) -> None:
    manager, certainty = MANAGERS[name]
    text = V1 + BLOCK.replace("{manager}", manager)
    actual = certainties(text, tmp_path, "TPU302")
    assert actual == ([certainty] if certainty else [])


def test_a_manager_that_is_entered_often_is_known_each_time(tmp_path: Path) -> None:
    """The budget of its function is spent before the last of them."""
    once = """
    with clears():
        x = x * 2.0
"""
    text = BLOCK.replace("    z = x * 2.0\n", 80 * once + "    z = x * 2.0\n")
    actual = certainties(V1 + text.replace("{manager}", "clears()"), tmp_path, "TPU302")
    assert actual == ["definite"]


def test_what_clears_may_be_imported_from_where_it_is_defined(tmp_path: Path) -> None:
    text = BLOCK.replace("{manager}", "ops.control_dependencies(None)")
    opening = V1 + "from tensorflow.python.framework import ops\n"
    assert certainties(opening + text, tmp_path, "TPU302") == ["definite"]


BY_HAND = """
import contextlib
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
strategy = tf.distribute.TPUStrategy(resolver)
data = tf.data.Dataset.from_tensors((tf.zeros([8, 4]), tf.zeros([8, 4]))).repeat()

def make(function):
    inputs = tf.keras.Input([4])
    model = tf.keras.Model(inputs, tf.keras.layers.Lambda(function)(inputs))
    model.compile("adam", "mse")
    return model

def on_tpu(x):
    return tf.py_function(abs, [x], tf.float32)  # error: TPU501

def on_host(x):
    return tf.py_function(abs, [x], tf.float32)
"""
SCOPES_BY_HAND = {
    "a scope on a stack": """
with contextlib.ExitStack() as stack:
    stack.enter_context(strategy.scope())
    model = make(on_tpu)
model.fit(data, steps_per_epoch=4)
other = make(on_host)
other.fit(data, steps_per_epoch=4)
""",
    "a scope that is entered and left": """
def train():
    scope = strategy.scope()
    scope.__enter__()
    model = make(on_tpu)
    scope.__exit__(None, None, None)
    other = make(on_host)
    model.fit(data, steps_per_epoch=4)
    other.fit(data, steps_per_epoch=4)

train()
again = make(on_host)
again.fit(data, steps_per_epoch=4)
""",
}


@pytest.mark.parametrize("name", SCOPES_BY_HAND)
def test_a_scope_of_a_strategy_that_is_entered_by_hand(name: str, tmp_path: Path) -> None:
    assert_marked(BY_HAND + SCOPES_BY_HAND[name], tmp_path)


# The scope of a TPU's strategy, or something else: what the other option is decides, and, where it
# is none, whether the program has another strategy in that case.
ONE_OF_TWO = """
import contextlib
import sys
import library
import tensorflow as tf

class Plain:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

def main(use_tpu=len(sys.argv) > 1):
    {strategy}
    with {scope}:
        largest = tf.Variable(0.0)

    @tf.function
    def step(x):
        strategy.run(lambda x: largest.assign(tf.reduce_max(x)), args=(x,))

    data = tf.data.Dataset.from_tensor_slices(tf.ones([8])).batch(8, drop_remainder=True)
    for x in strategy.experimental_distribute_dataset(data):
        step(x)

if __name__ == "__main__":
    main()
"""
ALWAYS = "strategy = tf.distribute.TPUStrategy()"
CHOSEN = "strategy = tf.distribute.TPUStrategy() if use_tpu else tf.distribute.get_strategy()"
IF_USED = "strategy.scope() if use_tpu else contextlib.nullcontext()"
OPTIONS = {
    "nothing": (ALWAYS, IF_USED, "possible"),
    "nothing, without a TPU": (CHOSEN, IF_USED, "definite"),
    "a stand-in": (ALWAYS, "strategy.scope() if use_tpu else Plain()", "possible"),
    "a stand-in, without a TPU": (CHOSEN, "strategy.scope() if use_tpu else Plain()", "definite"),
    "the scope of GPUs": (
        ALWAYS,
        "strategy.scope() if use_tpu else tf.distribute.MirroredStrategy().scope()",
        "definite",
    ),
    "what is not seen": (CHOSEN, "strategy.scope() if use_tpu else library.scope()", "possible"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_scope_that_is_one_of_two(name: str, tmp_path: Path) -> None:
    strategy, scope, certainty = OPTIONS[name]
    text = ONE_OF_TWO.replace("{strategy}", strategy).replace("{scope}", scope)
    assert certainties(text, tmp_path, "TPU710") == [certainty]
