"""Strategies that a flag chooses: the premise of what is said is that the run is on a TPU.

What a TPU's run meets on its way is definite. A test that leaves the TPU's strategy aside takes
the premise away, whatever the words of it are.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, certainties, expected, reported

FACTORY = """
import sys
import tensorflow as tf

def make(kind, address=""):
    kind = kind.lower()
    if kind == "off":
        return tf.distribute.get_strategy()
    if kind == "tpu":
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=address)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    if kind == "one_device":
        return tf.distribute.OneDeviceStrategy("cpu:0")
    return tf.distribute.MirroredStrategy()
"""
FLAG = """
import sys
import tensorflow as tf

use_tpu = "--tpu" in sys.argv
rate = float(sys.argv[1])
if {made}:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    strategy = tf.distribute.TPUStrategy(resolver)
else:
    strategy = tf.distribute.MirroredStrategy()

def step(x):
    return tf.py_function(abs, [x], tf.float32)

def train(num_gpus, kind):
    @tf.function
    def one(x):
        if {run}:
            strategy.run(step, args=(x,))
    one(tf.zeros([8]))
"""
FAULTS = (
    FACTORY
    + """
def train(strategy, data):
    @tf.function
    def one(iterator):
        def step(x):
            print(x)  # error: TPU506
            tf.py_function(abs, [x], tf.float32)  # error: TPU501
            strategy.reduce("SUM", x, axis=None)  # error: TPU705
            with strategy.scope():  # error: TPU703
                pass
            if isinstance(strategy, tf.distribute.MirroredStrategy):
                tf.numpy_function(abs, [x], tf.float32)
            return tf.Variable(1.0) + x  # error: TPU104
        return strategy.run(step, args=(next(iterator),))
    one(iter(strategy.experimental_distribute_dataset(data)))

train(make(sys.argv[1]), tf.data.Dataset.range(8).batch(8, drop_remainder=True))
"""
)
# The tests around the strategy and around its `run`, and the certainty of the TPU501, if any.
TESTS = {
    ("use_tpu", "True"): "definite",
    ("use_tpu", "rate > 0.5"): "definite",
    ("use_tpu", "use_tpu"): "definite",
    ("use_tpu", "not use_tpu"): "",
    ("use_tpu", "not use_tpu and rate > 0.5"): "",
    ("use_tpu", "num_gpus > 0"): "",
    ("use_tpu", "num_gpus == 0"): "definite",
    ("use_tpu", "kind == 'tpu'"): "definite",
    ("use_tpu", "kind != 'tpu'"): "",
    ("rate > 0.5", "rate > 0.5"): "definite",
    ("rate <= 0.5", "not rate <= 0.5"): "",
    ("use_tpu", "isinstance(strategy, tf.distribute.TPUStrategy)"): "definite",
    ("use_tpu", "not isinstance(strategy, tf.distribute.TPUStrategy)"): "",
    ("use_tpu", "isinstance(strategy, tf.distribute.MirroredStrategy)"): "",
}
GIVEN = """
def train(strategy):
    @tf.function
    def one(x):
        strategy.run(lambda each: tf.py_function(abs, [each], tf.float32), args=(x,))
    one(tf.zeros([8]))

{call}
"""
KINDS = {
    "train(make(sys.argv[1]))": "definite",
    "train(make('TPU'))": "definite",
    "train(make('Mirrored'))": "",
    "train(make('off'))": "possible",
}


def test_faults_of_each_run_on_a_tpu_are_definite(tmp_path: Path) -> None:
    assert_marked(FAULTS, tmp_path)


@pytest.mark.parametrize(("creation", "run"), TESTS)
def test_a_test_that_leaves_the_strategy_of_the_tpu_aside(
    creation: str, run: str, tmp_path: Path
) -> None:
    text = FLAG.replace("{made}", creation).replace("{run}", run)
    assert certainties(text, tmp_path, "TPU501") == [
        certainty for certainty in [TESTS[creation, run]] if certainty
    ]


IN_STEP = """
import os
import tensorflow as tf
from absl import flags

FLAGS = flags.FLAGS
flags.DEFINE_bool("verbose", False, "")
flags.DEFINE_bool("use_tpu", False, "")
on_cloud = "TPU_NAME" in os.environ
if {made}:
    strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
else:
    strategy = tf.distribute.get_strategy()

def step(x):
    if {step}:
        print(x.numpy())
    return x

@tf.function
def one(x):
    return strategy.run(step, args=(x,))

one(tf.zeros([8]))
"""
# The tests around the strategy and in its step, and the certainty of the TPU507, if any.
TESTS_IN_STEP = {
    ("'TPU_NAME' in os.environ", "'TPU_NAME' not in os.environ"): "",
    ("'TPU_NAME' in os.environ", "not ('TPU_NAME' in os.environ)"): "",
    ("'TPU_NAME' in os.environ", "'TPU_NAME' in os.environ"): "definite",
    ("'TPU_NAME' in os.environ", "'VERBOSE' not in os.environ"): "definite",
    ("'TPU_NAME' not in os.environ", "'TPU_NAME' in os.environ"): "",
    ("on_cloud", "not on_cloud"): "",
    ("on_cloud", "on_cloud"): "definite",
    ("on_cloud", "FLAGS.verbose"): "definite",
    ("os.environ['KIND'] == 'a'", "os.environ['KIND'] == 'b'"): "",
    ("FLAGS.verbose", "not FLAGS.verbose"): "possible",
    ("FLAGS.verbose", "FLAGS.verbose == False"): "possible",
    ("FLAGS.verbose", "FLAGS.verbose is not True"): "possible",
    ("FLAGS.verbose", "FLAGS.verbose is True"): "definite",
    ("FLAGS.use_tpu", "FLAGS.use_tpu == False"): "",
    ("FLAGS.use_tpu", "FLAGS.use_tpu is not True"): "",
    ("FLAGS.use_tpu", "FLAGS.use_tpu != False"): "definite",
}


@pytest.mark.parametrize(("creation", "step"), TESTS_IN_STEP)
def test_a_test_in_the_step_that_leaves_the_strategy_of_the_tpu_aside(
    creation: str, step: str, tmp_path: Path
) -> None:
    text = IN_STEP.replace("{made}", creation).replace("{step}", step)
    assert certainties(text, tmp_path, "TPU507") == [
        certainty for certainty in [TESTS_IN_STEP[creation, step]] if certainty
    ]


CHOSEN_BY_KEY = """
import tensorflow as tf
from absl import flags

FLAGS = flags.FLAGS

def make():
    return tf.distribute.TPUStrategy(
        tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    )

strategy = {strategy}
model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])  # error: TPU702
with strategy.scope():
    optimizer = tf.keras.optimizers.SGD(0.1)

def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss

@tf.function
def train(x):
    return strategy.run(step, args=(x,)) + 1  # error: TPU711

train(tf.zeros([8, 4]))
"""
TABLES = [
    '{"tpu": make(), "gpu": tf.distribute.MirroredStrategy()}[FLAGS.device]',
    '{"tpu": make, "gpu": tf.distribute.MirroredStrategy}[FLAGS.device]()',
    "dict(tpu=make, gpu=tf.distribute.MirroredStrategy).get(FLAGS.device)()",
]


@pytest.mark.parametrize("call", KINDS)
def test_a_factory_that_is_told_which_strategy_to_make(call: str, tmp_path: Path) -> None:
    text = FACTORY + GIVEN.replace("{call}", call)
    assert certainties(text, tmp_path, "TPU501") == [
        certainty for certainty in [KINDS[call]] if certainty
    ]


@pytest.mark.parametrize("strategy", TABLES)
def test_a_table_of_strategies(strategy: str, tmp_path: Path) -> None:
    assert_marked(CHOSEN_BY_KEY.replace("{strategy}", strategy), tmp_path)


def test_a_system_that_nothing_initializes_where_the_flag_chooses_the_tpu(tmp_path: Path) -> None:
    text = FLAG.replace("{made}", "use_tpu").replace("{run}", "True")
    uninitialized = text.replace("TPUClusterResolver.connect()", "TPUClusterResolver()")
    called = "\ntrain(0, 'tpu')\n"
    assert certainties(uninitialized + called, tmp_path, "TPU707") == ["definite"]
    assert certainties(text + called, tmp_path, "TPU707") == []


LIBRARY = """
# file: steps.py
import tensorflow as tf

class Evaluator:
    def __init__(self):
        self.strategy = tf.distribute.get_strategy()

    def step(self, batch):
        def one(x):
            return tf.py_function(abs, [x], tf.float32){mark}
        return self.strategy.run(one, args=(batch,))
# file: train.py
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
# file: steps_test.py
import tensorflow as tf
import steps

steps.Evaluator()
"""
SCRIPTS = {
    "its scripts are for other devices": (
        "",
        "from steps import Evaluator\n\nif __name__ == '__main__':\n    Evaluator().step(1)\n",
    ),
    "a script gets its strategy from elsewhere": (
        "  # possible: TPU501",
        "import library\nfrom steps import Evaluator\n\nstrategy = library.make_strategy()\n"
        "if __name__ == '__main__':\n    Evaluator().step(1)\n",
    ),
    "nothing but its test imports it": ("  # possible: TPU501", "pass\n"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_step_of_a_library_under_whatever_strategy(name: str, tmp_path: Path) -> None:
    mark, script = SCRIPTS[name]
    text = LIBRARY.replace("{mark}", mark) + "# file: evaluate.py\n" + script
    assert reported(text, tmp_path, ["TPU501"]) == expected(text, ["TPU501"])
