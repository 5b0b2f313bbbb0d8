"""Methods that a decorator of the project gives to `run`: what they do is a step of their class.

The decorator returns a function with one code for all methods, perhaps of another module.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, reported

DECORATOR = """
import functools
import tensorflow as tf

def on_replicas(reduction):
    def decorate(method):
        @functools.wraps(method)
        def wrapper(self, *args):
            if not self.use_tpu:
                return method(self, *args)
            losses = self.strategy.run(lambda *args: method(self, *args), args=args)
            return self.strategy.reduce(reduction, losses, axis=None)
        return wrapper
    return decorate
"""
BASE = """
import os
import tensorflow as tf

class Base:
    def __init__(self, use_tpu=False):
        self.use_tpu = use_tpu
        if use_tpu:
            resolver = tf.distribute.cluster_resolver.TPUClusterResolver(os.environ["TPU"])
            tf.config.experimental_connect_to_cluster(resolver)
            tf.tpu.experimental.initialize_tpu_system(resolver)
            self.strategy = tf.distribute.TPUStrategy(resolver)
"""
METHODS = """
    @tf.function
    @on_replicas("SUM")
    def train_generator(self, x):
        loss = tf.reduce_sum(x)
        tf.print(loss)  # error: TPU501
        return loss

    @tf.function
    @on_replicas("SUM")
    def train_discriminator(self, x):
        loss = tf.reduce_sum(x)
        tf.py_function(print, [loss], [])  # error: TPU501
        return loss

    @on_replicas("SUM")
    def evaluate(self, x):
        return tf.reduce_sum(x)

    def show(self, x):
        tf.print(x)
"""
OWN = DECORATOR + BASE + "\nclass Model(Base):" + METHODS
OTHERS = (
    f"# file: decorators.py\n{DECORATOR}\n# file: base.py\n{BASE}\n# file: model.py\n"
    "import tensorflow as tf\nfrom base import Base\nfrom decorators import on_replicas\n"
    f"\nclass Model(Base):{METHODS}"
)


@pytest.mark.parametrize("text", [OWN, OTHERS], ids=["of one module", "of three modules"])
def test_each_decorated_method_is_a_step(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)


def test_methods_of_other_decorators_are_no_steps(tmp_path: Path) -> None:
    runs = "self.strategy.run(lambda *args: method(self, *args), args=args)"
    assert runs in OTHERS
    text = OTHERS.replace(runs, "method(self, *args)").replace("# error: TPU501", "")
    assert reported(text, tmp_path, ["TPU5"]) == []
