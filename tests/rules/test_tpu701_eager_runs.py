"""Calls of a strategy's `run` that are certainly reached eagerly.

A mark in a program is what TPU701 says, and how sure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties, expected, found_marks, program, reported
from tests.rules.openings import SYSTEM

RUN = """
strategy.run(lambda each: each * 2.0, args=(tf.ones([4]),)){mark}
"""
EAGER = RUN.format(mark="  # error: TPU701")
GRAPH = RUN.format(mark="")
MAKE = "strategy = tf.distribute.TPUStrategy()\n"
FUNCTIONS = """
import sys
import library

def plain(x):
    return x * 2.0

def other(x):
    return x * 3.0

traced = tf.function(plain)
traced_too = tf.function(other)
"""

WAYS = {
    "one of two functions, of which one is traced": SYSTEM
    + """
import sys

def plain(x):
    strategy.run(lambda each: each * 2.0, args=(x,))

@tf.function
def traced(x):
    plain(x)

{"plain": plain, "traced": traced}[sys.argv[1]](tf.ones([4]))
""",
    "what a command line calls": SYSTEM
    + """
import click

@click.command()
@click.option("--steps", default=1)
def main(steps):
    strategy.run(lambda each: each * 2.0, args=(tf.ones([4]),))  # error: TPU701

main()
""",
    "what a configuration calls": SYSTEM
    + """
import hydra

@hydra.main(config_path="conf", config_name="config")
def main(config):
    strategy.run(lambda each: each * 2.0, args=(tf.ones([4]),))  # error: TPU701

main()
""",
    "what a decorator that is not seen calls": SYSTEM
    + """
import library

@library.compiled
def main():
    strategy.run(lambda each: each * 2.0, args=(tf.ones([4]),))

main()
""",
    "one of two strategies": SYSTEM
    + """
import sys

if len(sys.argv) > 1:
    strategy = tf.distribute.MirroredStrategy()
"""
    + EAGER,
    "a function that makes a dataset for it": SYSTEM
    + """
def train(dataset):
    for batch in strategy.experimental_distribute_dataset(dataset):
        strategy.run(lambda each: each * 2.0, args=(batch,))  # error: TPU701
""",
    "another function makes a dataset": SYSTEM
    + """
def prepare(dataset):
    return strategy.experimental_distribute_dataset(dataset)

def train(batch):
    strategy.run(lambda each: each * 2.0, args=(batch,))
""",
    "a helper makes a dataset": SYSTEM
    + """
def prepare(dataset):
    return strategy.experimental_distribute_dataset(dataset)

def train(dataset):
    batch = next(iter(prepare(dataset)))
    strategy.run(lambda each: each * 2.0, args=(batch,))
""",
    "the module makes a dataset": SYSTEM
    + """
batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(4))

def train():
    strategy.run(lambda each: each * 2.0, args=(next(iter(batches)),))
""",
}
VERSIONS = {
    "a graph": SYSTEM
    + """
with tf.Graph().as_default():
    strategy.run(lambda each: each * 2.0, args=(tf.ones([4]),))
""",
    "a session": SYSTEM + GRAPH + "tf.compat.v1.Session().run([])\n",
    "the names of version 1": "import tensorflow.compat.v1 as tf\n" + MAKE + GRAPH,
    "those among others": SYSTEM + "import os, tensorflow.compat.v1 as tf1\n" + GRAPH,
    "those, from compat": "from tensorflow.compat import v1 as tf\n" + MAKE + GRAPH,
    "those beside the names of version 2": "from tensorflow.compat import v2 as tf, v1\n"
    + MAKE
    + GRAPH,
    "one of those": SYSTEM + "from tensorflow.compat.v1 import train\n" + GRAPH,
    "the names of version 2": "from tensorflow.compat import v2 as tf\n" + MAKE + EAGER,
    "other names": SYSTEM + "from tensorflow import keras\n" + EAGER,
    "a library's version 1": SYSTEM + "from library.compat import v1\n" + EAGER,
    "version 1 from a package of the project": SYSTEM
    + "from .tensorflow.compat import v1 as tf1\n"
    + GRAPH,
    "a version 1 of one's own": SYSTEM + "from tensorflow_models.heads import v1\n" + EAGER,
    "the names of version 1, eagerly": "import tensorflow.compat.v1 as tf\n"
    + "tf.enable_eager_execution()\n"
    + MAKE
    + EAGER,
    "one of two modules": """
# file: steps.py
import tensorflow.compat.v1 as tf

def train(strategy):
    strategy.run(lambda each: each * 2.0, args=(tf.ones([4]),))
# file: train.py
import tensorflow as tf
from steps import train

train(tf.distribute.TPUStrategy())
""",
}
# No mark is in these: a module with one speaks of TPUs. What is said of each.
MODULES = {
    "the strategy of a module that is a TPU's": (
        """
# file: cluster.py
import tensorflow as tf

strategy = tf.distribute.TPUStrategy()
# file: train.py
import tensorflow as tf
from cluster import strategy

strategy.run(lambda each: each * 2.0, args=(tf.ones([4]),))
""",
        ["definite"],
    ),
    "any strategy, in a module that speaks of TPUs": (
        """
# file: steps.py
import tensorflow as tf

def train(strategy):
    strategy.run(lambda each: each * 2.0, args=(tf.ones([4]),))
# file: train.py
import tensorflow as tf
from steps import train

def main(strategy):
    print("on a TPU:", isinstance(strategy, tf.distribute.TPUStrategy))
    train(strategy)
""",
        ["possible"],
    ),
    "the default strategy of a module that speaks of TPUs": (
        """
import tensorflow as tf

strategy = tf.distribute.get_strategy()
print("on a TPU:", isinstance(strategy, tf.distribute.TPUStrategy))
strategy.run(lambda each: each * 2.0, args=(tf.ones([4]),))
""",
        [],
    ),
    "a strategy that was set by hand": (
        """
import tensorflow as tf

tf.distribute.experimental_set_strategy(tf.distribute.TPUStrategy())
strategy = tf.distribute.get_strategy()
strategy.run(lambda each: each * 2.0, args=(tf.ones([4]),))
""",
        ["possible"],
    ),
    "any strategy": (
        """
import tensorflow as tf

def main(strategy):
    strategy.run(lambda each: each * 2.0, args=(tf.ones([4]),))
""",
        [],
    ),
}
# The argument of `run`: True where it certainly is no tf.function.
CALLEES = {
    "plain": True,
    "traced": False,
    "library.step": False,
    "plain if len(sys.argv) > 1 else other": True,
    "plain if len(sys.argv) > 1 else traced": False,
    "traced_too if len(sys.argv) > 1 else traced": False,
    "plain if len(sys.argv) > 1 else library.step": False,
}
# A class, and whether a call of an object of it is certainly no tf.function.
CLASSES = {
    """
class Step:
    def __call__(self, x):
        return x * 2.0
""": True,
    """
class Step:
    @tf.function
    def __call__(self, x):
        return x * 2.0
""": False,
    """
class Base:
    def __call__(self, x):
        return x * 2.0

class Step(Base):
    pass
""": True,
    """
class Step(library.Base):
    pass
""": False,
    """
class Plain:
    def __call__(self, x):
        return x * 2.0

class Step(library.Base, Plain):
    pass
""": False,
}


@pytest.mark.parametrize("text", WAYS.values(), ids=WAYS)
def test_the_certainty_of_an_eager_run_by_its_callers(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU701"]) == expected(text, ["TPU701"])


@pytest.mark.parametrize("text", VERSIONS.values(), ids=VERSIONS)
def test_the_certainty_of_an_eager_run_by_the_version_of_its_module(
    text: str, tmp_path: Path
) -> None:
    assert reported(text, tmp_path, ["TPU701"]) == expected(text, ["TPU701"])


@pytest.mark.parametrize(("text", "found_certainties"), MODULES.values(), ids=MODULES)
def test_the_certainty_of_an_eager_run_by_the_modules_of_its_callers(
    text: str, found_certainties: list[str], tmp_path: Path
) -> None:
    actual = [mark for mark in found_marks(program(text), tmp_path) if mark.code == "TPU701"]
    assert [item.certainty for item in actual] == found_certainties


@pytest.mark.parametrize("callee", CALLEES)
def test_a_function_that_runs_nothing_on_the_device_is_silent(callee: str, tmp_path: Path) -> None:
    text = f"{SYSTEM}{FUNCTIONS}\nstrategy.run({callee}, args=(tf.ones([4]),))\n"
    actual = certainties(text, tmp_path, "TPU701")
    assert actual == (["definite"] if CALLEES[callee] else [])


@pytest.mark.parametrize("written", CLASSES)
def test_an_object_whose_call_runs_nothing_on_the_device_is_silent(
    written: str, tmp_path: Path
) -> None:
    text = f"{SYSTEM}import library\n{written}\nstrategy.run(Step(), args=(tf.ones([4]),))\n"
    actual = certainties(text, tmp_path, "TPU701")
    assert actual == (["definite"] if CLASSES[written] else [])
