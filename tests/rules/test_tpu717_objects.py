"""Which arguments and results of `run` are objects, and which may become tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import STRATEGY

PROGRAM = (
    STRATEGY
    + """
import collections
import dataclasses
import functools
import sys
import typing

class Network(tf.keras.Model):
    def call(self, x):
        return x

class Module(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable(1.0)

class Rows:
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return float(index)

class Items(list):
    pass

class Pair(typing.NamedTuple):
    x: float

@dataclasses.dataclass
class Batch:
    x: float

def double(x):
    return x * 2.0

@tf.custom_gradient
def reversed_gradient(x):
    return x, lambda dy: -dy

def step(*args):
    return args[-1]

with strategy.scope():
    network = Network()
    backbone = tf.keras.applications.MobileNetV2()
    optimizer = tf.keras.optimizers.SGD(0.1)
    error = tf.keras.losses.MeanSquaredError()
    mean = tf.keras.metrics.Mean()
rows = Network() if len(sys.argv) > 1 else None

@tf.function
def train(x):
    return strategy.run(step, args=({argument}, x))

train(tf.ones([2, 4]))
"""
)


@pytest.mark.parametrize(
    "argument",
    [
        *("network", "backbone", "optimizer", "error", "mean", "Module()", "Network", "strategy"),
        *("double", "lambda x: x", "functools.partial(double, 1.0)", "tf.keras.layers.Dense(2)"),
        *("network.call", "[1.0, (network, None)]", '{"network": network}'),
        "optimizer if len(sys.argv) > 2 else network",
    ],
)
def test_an_object(argument: str, tmp_path: Path) -> None:
    program = PROGRAM.replace("{argument}", argument)
    assert certainties(program, tmp_path, "TPU717") == ["definite"]


@pytest.mark.parametrize(
    "argument",
    [
        *("network(x)", "backbone(x)", "error(x, x)", "mean(x)", "mean.result()"),
        *("optimizer.iterations", "optimizer.learning_rate", "network.trainable_weights"),
        *("backbone.outputs", "tf.keras.applications.mobilenet_v2.preprocess_input(x)"),
        *("tf.keras.losses.mean_squared_error(x, x)", "functools.partial(double, 1.0)()"),
        *("Rows()", "Items()", "Pair(1.0)", "Batch(1.0)", "collections.OrderedDict(a=1.0)"),
        *(
            "reversed_gradient(x)",
            "rows",
            "tf.data.Dataset.range(3)",
            "None",
            "sys.argv",
            "Module().weight",
        ),
    ],
)
def test_what_may_become_a_tensor(argument: str, tmp_path: Path) -> None:
    program = PROGRAM.replace("{argument}", argument)
    assert certainties(program, tmp_path, "TPU717") == []


def test_another_strategy(tmp_path: Path) -> None:
    program = PROGRAM.replace("{argument}", "network").replace(
        "    return strategy.run", "    return tf.distribute.MirroredStrategy().run"
    )
    assert certainties(program, tmp_path, "TPU717") == []


RESULTS = PROGRAM.replace("{argument}", "x").replace("    return args[-1]", "    return {result}")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("args[0], optimizer", ["definite"]),
        ("network", ["definite"]),
        ("mean.result()", []),
        ('{"loss": args[0], "parts": [mean, 1.0]}', ["definite"]),
        ("reversed_gradient(args[0])", []),
        ("(args[0], mean) if len(sys.argv) > 1 else args[0]", ["possible"]),
        ('{"loss": args[0], "mean": mean.result(), "rate": optimizer.learning_rate}', []),
        ("args[0], None, 3, network(args[0])", []),
        ("args", []),
    ],
)
def test_what_the_function_returns(result: str, expected: list[str], tmp_path: Path) -> None:
    program = RESULTS.replace("{result}", result)
    assert certainties(program, tmp_path, "TPU717") == expected
