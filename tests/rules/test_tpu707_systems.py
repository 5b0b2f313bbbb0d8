"""Strategies on TPU systems: those that something initializes, or may, and the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, certainties, expected, reported

RESOLVER = "tf.distribute.cluster_resolver.TPUClusterResolver"
PROGRAM = f"""
import os
import sys
import tensorflow as tf
import library

resolver = {RESOLVER}()
{{before}}
strategy = tf.distribute.{{strategy}}(resolver)

@tf.function
def train(x):
    return strategy.run(lambda x: x * 2.0, args=(x,))

{{use}}
"""
USE = "train(tf.ones([4]))"
IN_MAIN = f"def main():\n    {USE}\n\nmain()"
IN_A_FUNCTION = "def evaluate():\n    return strategy.run(tf.ones, args=([4],))"
PROGRAMS = {
    "nothing": ("", "TPUStrategy", USE, True),
    "in a main": ("", "TPUStrategy", IN_MAIN, True),
    "calls of Python's": ("os.makedirs('logs')", "experimental.TPUStrategy", USE, True),
    "a package that sets the TPU's version": (
        "import cloud_tpu_client\ncloud_tpu_client.Client().configure_tpu_version(tf.__version__)",
        "TPUStrategy",
        USE,
        True,
    ),
    # A missed alarm: the names of these begin like words for an initialization.
    "names that are Python's own": (
        "if library is None:\n    raise RuntimeError\nsys.stdout.write(str(resolver))",
        "TPUStrategy",
        USE,
        True,
    ),
    "a missed alarm: what reports on the run is initialized": (
        "import wandb\nwandb.init(project='net')",
        "TPUStrategy",
        USE,
        True,
    ),
    "a call that names an output": ("library.write_outputs()", "TPUStrategy", USE, True),
    "a comment on an initialization": (
        "# Not initialize_tpu_system(resolver), nor TPUClusterResolver.connect()",
        "TPUStrategy",
        USE,
        True,
    ),
    "another strategy": ("", "MirroredStrategy", USE, False),
    "an initialization": (
        "tf.tpu.experimental.initialize_tpu_system(resolver)",
        "TPUStrategy",
        USE,
        False,
    ),
    "one under a flag": (
        "if len(sys.argv) > 1:\n    tf.tpu.experimental.initialize_tpu_system(resolver)",
        "TPUStrategy",
        USE,
        False,
    ),
    "a resolver that does it": (f"resolver = {RESOLVER}.connect()", "TPUStrategy", USE, False),
    "a library that takes the resolver": ("library.start(resolver)", "TPUStrategy", USE, False),
    "a library that says so": ("library.init_devices()", "TPUStrategy", USE, False),
    "a resolver that is not seen": ("resolver = library.found", "TPUStrategy", USE, False),
    "no step": ("", "TPUStrategy", "", False),
    "a function that nothing calls": ("", "TPUStrategy", IN_A_FUNCTION, False),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_systems(name: str, tmp_path: Path) -> None:
    before, strategy, use, finding = PROGRAMS[name]
    text = PROGRAM.format(before=before, strategy=strategy, use=use)
    assert certainties(text, tmp_path, "TPU707") == ["definite"] * finding


BY_HAND = """
import sys
import tensorflow as tf

{before}

@tf.function
def double(x):
    return tf.compat.v1.tpu.rewrite(lambda x: x * 2.0, [x])

{use}
"""
CALL = "double(tf.ones([4]))"
INITIALIZED = "tf.tpu.experimental.initialize_tpu_system()"
COMPUTATIONS = {
    "nothing": ("", CALL, True),
    "an initialization": (INITIALIZED, CALL, False),
    "an initialization under a flag": (f"if sys.argv[1:]:\n    {INITIALIZED}", CALL, False),
    "a graph of TensorFlow 1": ("tf.compat.v1.disable_eager_execution()", CALL, False),
    "a function that nothing calls": ("", "", False),
    "a call under a test": ("", f"if sys.argv[1:]:\n    {CALL}", False),
}


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_computations_without_a_strategy(name: str, tmp_path: Path) -> None:
    before, use, finding = COMPUTATIONS[name]
    text = BY_HAND.format(before=before, use=use)
    assert certainties(text, tmp_path, "TPU707") == ["definite"] * finding


IN_GRAPH = """
import sys
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
result = tf.tpu.rewrite(lambda x: x * 2.0, [tf.ones([4])])
other = tf.ones([4])
{use}
"""
START = "session.run(tf.tpu.initialize_system())"
SESSIONS = {
    "a missed alarm: a session of this process": (
        "with tf.Session() as session:\n    print(session.run(result))",
        ["definite"],
    ),
    "a session of a server": (
        "session = tf.Session(sys.argv[1])\nprint(session.run([result, other]))",
        ["possible"],
    ),
    "an initialization": (
        f"with tf.Session() as session:\n    {START}\n    print(session.run(result))",
        [],
    ),
    "a session that runs something else": (
        "with tf.Session() as session:\n    print(session.run(other))",
        [],
    ),
    "a function that nothing calls": (
        "def evaluate():\n    with tf.Session() as session:\n        print(session.run(result))",
        [],
    ),
    "a main that nothing calls": (
        "def main(x):\n    y = tf.tpu.rewrite(tf.nn.relu, [x])\n"
        "    with tf.Session() as session:\n        print(session.run(y))",
        [],
    ),
    "a main that the script calls": (
        "def main():\n    y = tf.tpu.rewrite(tf.nn.relu, [other])\n"
        "    with tf.Session() as session:\n        print(session.run(y))\n\nmain()",
        ["definite"],
    ),
    "a session of a library": (
        "import library\nwith library.Session() as session:\n    session.run(result)",
        [],
    ),
    "a library that takes the session": (
        "import library\nwith tf.Session() as session:\n    library.start_tpu(session)\n"
        "    session.run(result)",
        [],
    ),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions_that_run_a_computation(name: str, tmp_path: Path) -> None:
    use, reported = SESSIONS[name]
    assert certainties(IN_GRAPH.format(use=use), tmp_path, "TPU707") == reported


DETECTED = """
import tensorflow as tf

try:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
except ValueError:
    resolver = None
if resolver:
    tf.config.experimental_connect_to_cluster(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)  # error: TPU707
else:
    strategy = tf.distribute.get_strategy()

@tf.function
def train(x):
    return strategy.run(lambda x: x * 2.0, args=(x,))

train(tf.ones([4]))
"""
ONE_OF_TWO = """
import sys
import tensorflow as tf

class Net(tf.keras.Model):
    def call(self, x):
        return x

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
strategy = tf.distribute.TPUStrategy(resolver)  # error: TPU707
with strategy.scope():
    if sys.argv[1] == "plain":
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    else:
        model = Net()
    model.compile("adam", "mse")
model.fit(tf.ones([8, 4]), tf.ones([8]))
"""


@pytest.mark.parametrize("text", [DETECTED, ONE_OF_TWO])
def test_the_resolver_or_the_model_is_one_of_two(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU707"]) == expected(text, ["TPU707"])


SCRIPTS = """
# file: shared.py
import tensorflow as tf

def connect():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(resolver)
    {shared}
    return tf.distribute.TPUStrategy(resolver){mark}

def train(strategy):
    @tf.function
    def step(x):
        return strategy.run(tf.abs, args=(x,))

    step(tf.ones([4]))
# file: first.py
import tensorflow as tf
from shared import connect, train

def main():
    {first}
    train(connect())

if __name__ == "__main__":
    main()
# file: second.py
import tensorflow as tf
{imports}
from shared import train

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
{second}
train(tf.distribute.TPUStrategy(resolver))
"""
INITIALIZES = "tf.tpu.experimental.initialize_tpu_system(resolver)"
BY_FIRST = "tf.tpu.experimental.initialize_tpu_system()"
NEITHER = {"shared": "pass", "first": "pass", "imports": "", "second": "pass", "mark": ""}


def test_another_script_initializes_nothing(tmp_path: Path) -> None:
    rows = NEITHER | {"second": INITIALIZES, "mark": "  # error: TPU707"}
    assert_marked(SCRIPTS.format(**rows), tmp_path)


@pytest.mark.parametrize(
    "rows",
    [
        {"shared": INITIALIZES, "second": INITIALIZES},
        {"first": BY_FIRST, "second": INITIALIZES},
        {"second": INITIALIZES, "imports": "import importlib\nimportlib.import_module('first')"},
    ],
    ids=["what makes the strategy", "who calls it", "who runs it by its name"],
)
def test_a_module_that_may_run_before_initializes(rows: dict[str, str], tmp_path: Path) -> None:
    assert_marked(SCRIPTS.format(**(NEITHER | rows)), tmp_path)


# A function of the project by whose name it may initialize; its module's words tell.
ASKED = """
# file: hardware.py
import tensorflow as tf
{imports}

def has_tpu():
    return {asks}

def double(x):
    return x * 2.0
# file: train.py
import tensorflow as tf
from hardware import double, has_tpu

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
assert has_tpu()
strategy = tf.distribute.TPUStrategy(resolver){mark}

@tf.function
def train(x):
    return strategy.run(double, args=(x,))

train(tf.ones([4]))
"""
HERE = 'len(tf.config.list_logical_devices("TPU")) > 0'


@pytest.mark.parametrize(
    ("imports", "asks", "mark"),
    [
        ("import os", HERE, "  # error: TPU707"),
        ("import library", "library.setup_tpu()", ""),
        ("from . import devices", "devices.setup_tpu()", ""),
        ("", f"tf.tpu.experimental.initialize_tpu_system() or {HERE}", ""),
    ],
    ids=["asks", "a library's", "another module's", "initializes"],
)
def test_a_function_of_the_project_that_asks_for_a_tpu(
    imports: str, asks: str, mark: str, tmp_path: Path
) -> None:
    text = ASKED.format(imports=imports, asks=asks, mark=mark)
    assert reported(text, tmp_path, ["TPU707"]) == expected(text, ["TPU707"])
