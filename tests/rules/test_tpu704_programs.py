"""Programs with TPU704, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked

# Folds that each make a model; {} are what comes before the loop, in each round, and after it.
FOLDS = """
import tensorflow as tf

def connected(name):
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(name)
    tf.tpu.experimental.initialize_tpu_system(resolver)  {mark}
    return tf.distribute.TPUStrategy(resolver)

images, models = tf.ones([16, 4]), []
{before}
for fold in range({count}):
    {connect}
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    {collect}
{after}
"""


def _folds(mark: str = "", after: str = "", **parts: str) -> str:
    usual = {
        "before": "",
        "count": "3",
        "connect": 'strategy = connected("local")',
        "collect": "models.append(model)",
    }
    after = after or "print([each.predict(images) for each in models])"
    return FOLDS.format(mark=mark, after=after, **usual | parts)


# Folds that share a strategy; the system is cleared in each.
CLEARED = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
images = tf.ones([16, 4])

def built():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])

with strategy.scope():
    first = built()
    adam = tf.keras.optimizers.Adam()
first.summary()

for fold in range(3):
    tf.tpu.experimental.initialize_tpu_system(resolver)  {mark}
    with strategy.scope():
        model = {make}
        model.compile({optimizer}, "mse")
    model.fit(images, images)
{after}
"""


# A model that is used on a system that was initialized again; {} is what comes in between.
RESTORED = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
images = tf.ones([16, 4])
model.fit(images, images)
model.save_weights("gs://bucket/first.h5")
tf.tpu.experimental.initialize_tpu_system(resolver)  {mark}
{restore}
model.predict(images)
"""
LOAD = 'model.load_weights("gs://bucket/first.h5")'


def _cleared(mark: str = "", **parts: str) -> str:
    usual = {"make": "built()", "optimizer": '"sgd"', "after": ""}
    return CLEARED.format(mark=mark, **usual | parts)


# What is lost is what the step needs, however its strategy was got.
TRAINER = """
import tensorflow as tf

MODES = ["train", "export"]
RESOLVER = tf.distribute.cluster_resolver.TPUClusterResolver("")


def get_strategy():
    tf.config.experimental_connect_to_cluster(RESOLVER)
    tf.tpu.experimental.initialize_tpu_system(RESOLVER)
    return tf.distribute.TPUStrategy(RESOLVER)


class Trainer:
    def __init__(self, strategy, run_mode):
        self.strategy = strategy
        self.run_mode = run_mode
        with strategy.scope():
            self.model = tf.keras.Sequential([{layers}])
            self.optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)

    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(self.model(x)) / 1024.0
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss

    @tf.function
    def run_step(self, x):
        return self.strategy.run(self.step, args=(x,))

    def train(self, x):
        tf.tpu.experimental.initialize_tpu_system(RESOLVER){mark}
        self.run_step(x)


def main(mode, x):
    strategy = get_strategy()
    trainer = Trainer(strategy, mode)
    trainer.train(x)
"""

PROGRAMS = {
    "models of all folds are used after the loop that clears each": _folds("# error: TPU704"),
    "in a loop over the models": _folds(
        "# error: TPU704", "for each in models:\n    each.predict(images)"
    ),
    "of folds whose number is not seen": _folds(
        "# possible: TPU704", before="import sys", count="int(sys.argv[1])"
    ),
    "of folds that may end after the first": _folds(
        "# possible: TPU704",
        before="import sys",
        collect=("models.append(model)\n    if len(sys.argv) > 1:\n        break"),
    ),
    "of one fold": _folds(count="1"),
    "of folds that share a strategy": _folds(
        before='strategy = connected("local")', connect="pass"
    ),
    "only the last fold's model is used": _folds(after="model.predict(images)"),
    "of a list with the last fold's model": _folds(collect="models = [model]"),
    "of a list made after the loop": _folds(after="for each in [model]:\n    each.predict(images)"),
    "used in each fold": _folds(
        collect="models.append(model.predict(images))", after="print(sum(models))"
    ),
    "of folds on TPUs of their own": _folds(
        before="import sys", connect="strategy = connected(sys.argv[fold])"
    ),
    "harmless finding: each fold clears the system for its own model": _cleared(),
    "each fold clears the system, and trains on with the model of before": _cleared(
        "# possible: TPU704", make="first"
    ),
    "each fold clears the system, and passes what was made before": _cleared(
        "# possible: TPU704", optimizer="adam"
    ),
    "each fold clears the system, and evaluates the model of before": _cleared(
        "# possible: TPU704", after="first.evaluate(images)"
    ),
    "false alarm: a model gets its weights again": RESTORED.format(mark="", restore=LOAD),
    "harmless finding: a model gets its weights and its optimizer again": RESTORED.format(
        mark="",
        restore=f"with strategy.scope():\n    {LOAD}\n    model.compile('sgd', 'mse')\n"
        "model.fit(images, images)",
    ),
    "a model is trained with the optimizer of before": RESTORED.format(
        mark="# error: TPU704", restore=f"{LOAD}\nmodel.fit(images, images)"
    ),
    "a model is used before it gets its weights": RESTORED.format(
        mark="# error: TPU704", restore=f"model.evaluate(images, images)\n{LOAD}"
    ),
    "another model gets its weights": RESTORED.format(
        mark="# possible: TPU704",
        restore="with strategy.scope():\n    other = tf.keras.Sequential()\n"
        "other.load_weights('gs://bucket/first.h5')",
    ),
    "a model may get its weights": RESTORED.format(
        mark="# error: TPU704", restore=f"import sys\nif sys.argv[1:]:\n    {LOAD}"
    ),
    # A harmless finding: nothing is on the system yet.
    "a TPU is looked for, and set up afterwards": """
import tensorflow as tf

def is_there():
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return True
    except ValueError:
        return False

def connected():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)

if is_there():
    strategy = connected()
""",
    "a strategy is returned by one branch, and the system initialized in the other": """
import tensorflow as tf

def build(kind, resolver):
    if kind == "partitioned":
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)
""",
    "harmless finding in tensorflow-recommenders: the system is cleared for the next model": """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("").connect("")
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(10)])
tf.tpu.experimental.initialize_tpu_system(resolver)  # possible: TPU704
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(20)])
""",
    "a step uses a model that was made before": TRAINER.format(
        layers="tf.keras.layers.Input([4]), tf.keras.layers.Dense(2)", mark="  # error: TPU704"
    ),
    "a step may make the weights of its model first": TRAINER.format(
        layers="tf.keras.layers.Dense(2)", mark="  # possible: TPU704"
    ),
    "a test asks for the mode": TRAINER.format(
        layers="tf.keras.layers.Input([4]), tf.keras.layers.Dense(2)", mark="  # error: TPU704"
    ).replace("trainer.train(x)", "if 'train' in trainer.run_mode:\n        trainer.train(x)"),
    "a step of a program that initializes the system first": TRAINER.format(
        layers="tf.keras.layers.Input([4]), tf.keras.layers.Dense(2)", mark=""
    ).replace("        tf.tpu.experimental.initialize_tpu_system(RESOLVER)\n", ""),
    "an early return for what is known is before both": TRAINER.format(
        layers="tf.keras.layers.Input([4]), tf.keras.layers.Dense(2)", mark="  # error: TPU704"
    ).replace("    strategy = get", "    if mode not in MODES: return\n    strategy = get"),
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
