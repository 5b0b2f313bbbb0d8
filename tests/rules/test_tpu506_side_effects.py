"""TPU506, line by line: which Python in a step shows, keeps or writes what it must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties

STEP = """
import logging
import os
import random
import numpy as np

import tensorflow as tf
from PIL import Image

strategy = tf.distribute.TPUStrategy()
kept, shown = [], list()
scale = tf.constant(2.0)

def step(x):
    own = []
    {line}
    return x

@tf.function
def train(x):
    return strategy.run(step, args=(x,))
"""

SAID = {
    "a tensor is printed": 'print("loss", x)',
    "a tensor is logged": 'logging.info("loss %s", x)',
    "a logger shows a tensor": 'log = logging.getLogger("a")\n    log.warning("loss %s", x)',
    "TensorFlow's logger shows a tensor": 'tf.get_logger().info("loss %s", x)',
    "a tensor is logged at a level": 'logging.log(logging.INFO, "loss %s", x)',
    "a tensor in an f-string": 'print(f"loss {x}")',
    "a tensor in a format": 'print("loss {}".format(x))',
    "a tensor among what is put into a text": 'print("loss %s of %s" % (1, x))',
    "a tensor is put into a text": 'print("loss %s" % x)',
    "a tensor that is computed for it": 'print("loss", tf.reduce_mean(x))',
    "a tensor that an operator computes for it": 'print("loss", x / 2.0)',
    "an item of a dict is printed": 'losses = {"a": x + 1.0}\n    print(losses["a"])',
    "a tensor is kept": "kept.append(x)",
    "a tensor is kept at a place": "kept.insert(0, x)",
    "a tensor is kept in what list() made": "shown.append(x)",
    "tensors are kept in a tuple": "kept.append((1, x))",
    "a file is written": 'open("log", "w").close()',
    "a file is written, the mode by name": 'open("log", mode="ab").close()',
    "a file of a bucket is written": 'tf.io.gfile.GFile("gs://logs", "w").close()',
    "a test of a loop on the device shows its counter": (
        "def more(n):\n        print(n)\n        return n < 3\n"
        "    tf.while_loop(more, lambda n: [n + 1], [tf.constant(0)])"
    ),
    "a number that is drawn": "x = x * random.random()",
    "an array of a rare distribution": "x += np.random.gumbel(size=[4])",
}

SILENT = {
    "an argument of a wrong kind": (
        'if not isinstance(x, list):\n        logging.warning("no list: %s", x)'
    ),
    "words": 'print("step")',
    "words beside an operation": 'print("loss", "what") or tf.abs(x, "absolute")',
    "a logger shows words and shapes": 'logging.getLogger("a").info("traced %s", x.shape)',
    "info of something else": 'os.getLogger("a", x).info("a")',
    "a shape": "print(x.shape, x.dtype)",
    "a shape that a function gives": "print(tf.keras.backend.int_shape(x))",
    "shapes of all parts": "print(tf.nest.map_structure(lambda part: part.shape, [x]))",
    "what is known of a tensor, asked there": "print(tf.get_static_value(x))",
    "a number that is computed for it": "print(x.shape[0] * 2)",
    "what an unseen function makes of it": "from summary import short\n    print(short(x))",
    "a value that is asked for": "print(x.numpy())",
    "a shape in an f-string": 'print(f"{x.shape}")',
    "a text that is put together": 'print("a" + "b" % ())',
    "the result of a call in an f-string": 'print(f"{len(x.shape)}")',
    "a method that is called format on something else": "print(os.format(x))",
    "the devices": "found = tf.config.list_logical_devices()\n    print(found)",
    "what is known of a tensor before it runs": "n = tf.get_static_value(x)\n    print(n)",
    "the type of floats": "kind = tf.keras.backend.floatx()\n    print(kind)",
    "a tensor that was made outside all graphs has a value": 'print(scale, "%s" % scale)',
    "a number is kept": "kept.append(1)",
    "a tensor is kept in a list of the step": "own.append(x)",
    "a tensor is taken out": "kept.remove(x)",
    "a file is read": 'open("log").close()',
    "a file is read, as its mode says": 'open("log", "r").close()',
    "a file of a mode that is not known": 'open("log", os.environ["MODE"]).close()',
    "a picture whose mode is no text": 'Image.open("x.png", "a")',
    "an operation with a name": 'x = tf.round(x, "weights")',
    "a seed is set": "random.seed(1)",
    "a number that is drawn for nothing": "random.random()",
}


def lines(line: str, folder: Path) -> list[str]:
    text = STEP.replace("{line}", line)
    return certainties(text, folder, "TPU506")


@pytest.mark.parametrize("name", SAID)
def test_a_visible_effect_of_tracing_is_reported(name: str, tmp_path: Path) -> None:
    assert lines(SAID[name], tmp_path) == ["definite"]


@pytest.mark.parametrize("name", SILENT)
def test_python_without_a_visible_effect_is_silent(name: str, tmp_path: Path) -> None:
    assert lines(SILENT[name], tmp_path) == []
