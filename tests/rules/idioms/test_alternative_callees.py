"""Callees of which one is meant: where each that can be called runs the step, no doubt is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import STRATEGY, V1

PROGRAM = """
import sys
import library
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
strategy = tf.distribute.TPUStrategy(resolver)
eager, evaluates = "--eager" in sys.argv, "--evaluate" in sys.argv

def step(x):
    return tf.py_function(abs, [x], tf.float32)

class Evaluator:
    @tf.function
    def evaluate(self, x):
        return strategy.run(step, args=(x,))

def train(x):
    return strategy.run(step, args=(x,))

def other(x):
    return x

x = tf.zeros([8])
{line}
"""
LINES = {
    "an object or None": (
        "evaluator = Evaluator() if evaluates else None\nif evaluator:\n    evaluator.evaluate(x)",
        "definite",
    ),
    "a function or None": (
        "run = tf.function(train) if evaluates else None\nrun(x)",
        "definite",
    ),
    "a function, traced by a flag": (
        "if not eager:\n    train = tf.function(train)\ntrain(x)",
        "definite",
    ),
    "one of several functions": (
        "run = tf.function(train) if evaluates else other\nrun(x)",
        "possible",
    ),
    "a function that is not seen": (
        "run = tf.function(train) if evaluates else library.run\nrun(x)",
        "possible",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_which_of_several_callees_runs_the_step(name: str, tmp_path: Path) -> None:
    line, certainty = LINES[name]
    text = PROGRAM.replace("{line}", line)
    if "Evaluator()" not in line:
        text = text.replace("strategy.run(step, args=(x,))\n\ndef train", "x\n\ndef train")
    else:
        text = text.replace("strategy.run(step, args=(x,))\n\ndef other", "x\n\ndef other")
    assert certainties(text, tmp_path, "TPU501") == [certainty]


REGISTRY = """
import tensorflow as tf

BLOCKS = {{}}

def register(cls):
    BLOCKS[cls.__name__] = cls
    return cls

def named(name):
    def keep(cls):
        BLOCKS[name] = cls
        return cls
    return keep

class Block:
    def __init__(self, width):
        self.width = width

    def build(self, x):
        return x * self.width

class Print(Block):
    def build(self, x):
        return tf.py_function(abs, [x], tf.float32)

class A(Block): pass
class B(Block): pass
class C(Block): pass
class D(Block): pass
class E(Block): pass
class F(Block): pass
{registration}

def step(x, names):
    for name in names:
        x = {lookup}(4).build(x)
    return x

def train(names):
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    strategy = tf.distribute.TPUStrategy(resolver)
    return tf.function(lambda x: strategy.run(step, args=(x, names)))(tf.zeros([8]))
"""
BY_DECORATOR = "\n".join(
    f"@{decorator}\nclass {base}{base}({base}): pass"
    for base, decorator in zip(
        ["Print", *"ABCDEF"], ["register", *["named('b')"] * 3, *["register"] * 3], strict=True
    )
)
BY_LITERAL = "BLOCKS = {'print': Print, 'a': A, 'b': B, 'c': C, 'd': D, 'e': E, 'f': F}"


@pytest.mark.parametrize("registration", [BY_LITERAL, BY_DECORATOR])
@pytest.mark.parametrize("lookup", ["BLOCKS[name]", "BLOCKS.get(name)"])
def test_methods_of_objects_of_a_registry(registration: str, lookup: str, tmp_path: Path) -> None:
    program = REGISTRY.format(registration=registration, lookup=lookup)
    assert certainties(program, tmp_path, "TPU501") == ["possible"]


def test_a_block_that_no_registry_holds_is_not_read(tmp_path: Path) -> None:
    program = REGISTRY.format(registration=BY_LITERAL, lookup="BLOCKS[name]")
    assert not certainties(program.replace("'print': Print, ", ""), tmp_path, "TPU501")


MANY_TENSORS = """
import sys
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
strategy = tf.distribute.TPUStrategy(resolver)

def step(x):
    parts = {"a": x + 1, "b": x + 2, "c": x + 3, "d": x + 4, "e": x + 5, "f": x + 6, "g": x + 7}
    return parts[sys.argv[1]].numpy()

tf.function(lambda x: strategy.run(step, args=(x,)))(tf.zeros([8]))
"""


def test_one_of_many_tensors_is_a_tensor(tmp_path: Path) -> None:
    assert certainties(MANY_TENSORS, tmp_path, "TPU507") == ["possible"]


MANY_MODELS = """
import sys
import tensorflow as tf

def library():
    import tensorflow as tf
    return {"keras": tf.keras, "layers": tf.keras.layers}

def loss(y_true, y_pred):
    return y_pred.numpy().sum()
"""


def many_models(number: int, wrong: int) -> str:
    """Return a program that trains one of `number` models, of which one has a wrong loss."""
    builders = "".join(
        f"""
def build_{index}():
    modules = library()
    keras, layers = modules["keras"], modules["layers"]
    model = keras.Sequential([layers.Dense(4)])
    model.compile(optimizer="adam", loss={"loss" if index == wrong else '"mse"'}, metrics=[])
    return model
"""
        for index in range(number)
    )
    branches = "".join(
        f"        elif name == 'model {index}':\n            model = build_{index}()\n"
        for index in range(number)
    )
    return f"""{MANY_MODELS}{builders}
def train(name, strategy):
    with strategy.scope():
        if name == "":
            raise ValueError
{branches}    model.fit(tf.zeros([8, 4]), tf.zeros([8, 1]))

resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
train(sys.argv[1], tf.distribute.TPUStrategy(resolver))
"""


def test_each_of_many_models_is_trained(tmp_path: Path) -> None:
    assert certainties(many_models(8, 7), tmp_path, "TPU507") == ["definite"]


def test_modules_that_a_function_gives_are_known_however_often_it_is_called(
    tmp_path: Path,
) -> None:
    assert certainties(many_models(24, 20), tmp_path, "TPU507") == ["definite"]


MODELS = (
    V1
    + """
def plain(x):
    return tf.reduce_mean(x)

def printing(x):
    return tf.reduce_mean(tf.Print(x, [x]))

MODELS = {{{models}}}

def get_model(name):
    chosen = MODELS.get(name)
    if chosen is None:
        raise ValueError(name)
    def model_fn(features, labels, mode, params):
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=chosen(features))
    return model_fn

estimator = tf.estimator.tpu.TPUEstimator(
    get_model({name}), config=tf.estimator.tpu.RunConfig(), train_batch_size=8
)
estimator.train(lambda params: tf.data.Dataset.range(8))
"""
)
ALTERNATIVES = ", ".join(f"'{name}': plain" for name in "abcdefgh") + ", 'printing': printing"
FLAG = "tf.app.flags.FLAGS.model"


@pytest.mark.parametrize(
    ("models", "name", "expected"),
    [
        ("'plain': plain, 'printing': printing", FLAG, "definite"),
        (ALTERNATIVES, FLAG, "definite"),
        ("str: plain, int: printing", "type(len)", "possible"),
        ("'plain': plain, 'printing': printing", "'plain'", None),
    ],
)
def test_a_setting_may_choose_each_function_of_a_registry(
    models: str, name: str, expected: str | None, tmp_path: Path
) -> None:
    program = MODELS.format(models=models, name=name)
    assert certainties(program, tmp_path, "TPU501") == ([expected] if expected else [])


TABLE = (
    V1
    + """
class Reader:
    def __init__(self, path):
        self.path = path

    def input_fn(self, params):
        return tf.data.TFRecordDataset(self.path).batch(params["batch_size"])

{table}

def read(params):
    return READERS[tf.app.flags.FLAGS.dataset]("gs://bucket/rows").input_fn(params)

def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, config=tf.estimator.tpu.RunConfig(), train_batch_size=8
)
estimator.train(read)
"""
)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("READERS = {'rows': Reader}", "definite"),
        ("READERS = {'rows': Reader, **vars(tf)}", "possible"),
    ],
)
def test_a_key_that_is_not_seen_is_one_of_a_table(
    table: str, expected: str, tmp_path: Path
) -> None:
    assert certainties(TABLE.format(table=table), tmp_path, "TPU605") == [expected]


ROWS = (
    STRATEGY
    + """
import sys

def basic(x):
    return tf.py_function(abs, [x], tf.float32)

def bottleneck(x):
    return x * 2.0

def unused(x):
    return tf.py_function(abs, [x], tf.float32)

SIZES = {{
    {rows}
}}

class Network:
    def __init__(self, depth):
        self.block = SIZES[depth]["block"]
        self.blocks = SIZES[depth]["blocks"]

    def __call__(self, x):
        for _ in range(self.blocks[0]):
            x = self.block(x)
        return x

network = Network(int(sys.argv[1]))

@tf.function
def train(x):
    return strategy.run(network, args=(x,))

train(tf.ones([8]))
"""
)


@pytest.mark.parametrize(("first", "expected"), [("basic", ["possible"]), ("bottleneck", [])])
def test_a_table_may_have_many_rows(first: str, expected: list[str], tmp_path: Path) -> None:
    """Missed before: what the blocks of a network do, if more than a few sizes are in its table."""
    blocks = [first] * 3 + ["bottleneck"] * 5
    rows = "".join(
        f'{number}: {{"block": {block}, "blocks": [2, {number}]}},\n    '
        for number, block in enumerate(blocks)
    )
    assert certainties(ROWS.format(rows=rows), tmp_path, "TPU501") == expected


TRAINERS = (
    STRATEGY
    + """
import sys
from absl import flags

FLAGS = flags.FLAGS

class Trainer:
    @tf.function
    def train(self, x):
        return strategy.run(self.step, args=(x,))

class Printing(Trainer):
    def step(self, x):
        return tf.strings.as_string(x)

class Plain(Trainer):
    def step(self, x):
        return x

{make}
if FLAGS.train:
    trainer.train(tf.zeros([8]))
"""
)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        ("trainer = {'a': Printing, 'b': Plain}[FLAGS.trainer]()", "definite"),
        ("trainer = {'a': Printing, 'b': Plain}[sys.argv[1]]()", "possible"),
        ("trainer = {'a': Printing(), 'b': Plain()}[FLAGS.trainer]", "definite"),
        ("trainer = {'a': (1, Printing()), 'b': (2, Plain())}[FLAGS.trainer][1]", "definite"),
        ("_, trainer = {'a': (1, Printing()), 'b': (2, Plain())}[FLAGS.trainer]", "definite"),
        ("trainer = Printing() if FLAGS.prints else Plain()", "definite"),
        ("trainer = {'a': Printing, 'b': Plain}[type(len)]()", "possible"),
        ("trainer = {'a': Plain, 'b': Plain}[FLAGS.trainer]()", None),
    ],
)
def test_a_setting_chooses_the_object_whose_method_is_a_step(
    make: str, expected: str | None, tmp_path: Path
) -> None:
    program = TRAINERS.replace("{make}", make)
    assert certainties(program, tmp_path, "TPU501") == ([expected] if expected else [])


def test_a_test_of_the_object_may_leave_one_of_several_aside(tmp_path: Path) -> None:
    make = "trainer = Printing() if FLAGS.prints else Plain()"
    program = TRAINERS.replace("{make}", make).replace("FLAGS.train:", "is_wanted(trainer):")
    assert certainties(program, tmp_path, "TPU501") == ["possible"]
