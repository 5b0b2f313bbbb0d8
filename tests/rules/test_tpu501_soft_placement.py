"""Soft placement belongs to the programs that turn it on, and to no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

SOFT = "tf.config.set_soft_device_placement(True)"
TRAIN = """
# file: {name}.py
import tensorflow as tf
{before}
strategy = tf.distribute.TPUStrategy()

@tf.function
def train(x):
    def step(x):
        return tf.py_function(abs, [x], tf.float32){mark}
    return strategy.run(step, args=(x,))
"""
DEFINITE, POSSIBLE = "  # error: TPU501", "  # possible: TPU501"


def trainer(name: str, before: str = "", mark: str = "") -> str:
    return TRAIN.format(name=name, before=before, mark=mark)


def setter(name: str, imports: str) -> str:
    return f"# file: {name}.py\nimport tensorflow as tf\nimport {imports}\n{SOFT}\n"


PROGRAMS = {
    "the program's own file": trainer("train", SOFT),
    "a file beside it that is another program": trainer("train", mark=DEFINITE)
    + f"# file: other.py\nimport tensorflow as tf\n{SOFT}\n",
    "the file that starts it": trainer("train") + setter("main", "train"),
    "one of two files that start it": trainer("train", mark=POSSIBLE)
    + setter("main", "train")
    + "# file: serve.py\nimport train\n",
    "its test": trainer("train", mark=DEFINITE) + setter("train_test", "train"),
    "a file that the starting one imports, too": trainer("train")
    + "# file: main.py\nimport settings, train\n"
    + f"# file: settings.py\nimport tensorflow as tf\n{SOFT}\n",
    "a function of a library, which may never be called": trainer("train", "import tools", POSSIBLE)
    + f"# file: tools.py\nimport tensorflow as tf\n\ndef softly():\n    {SOFT}\n",
    "the branch that makes the TPU's strategy": """
import sys
import tensorflow as tf

class Trainer:
    def __init__(self, kind):
        if kind == "tpu":
            self.strategy = tf.distribute.TPUStrategy()
            tf.config.set_soft_device_placement(True)
        else:
            self.strategy = tf.distribute.MirroredStrategy()

    @tf.function
    def train(self, x):
        return self.strategy.run(lambda x: tf.py_function(abs, [x], tf.float32), args=(x,))

Trainer(sys.argv[1]).train(tf.ones([8]))
""",
    "a branch of its own": """
import sys
import tensorflow as tf

def main(kind, is_soft):
    strategy = tf.distribute.TPUStrategy()
    if is_soft:
        tf.config.set_soft_device_placement(True)

    @tf.function
    def train(x):
        def step(x):
            return tf.py_function(abs, [x], tf.float32)  # possible: TPU501
        return strategy.run(step, args=(x,))

    train(tf.ones([8]))

main(sys.argv[1], len(sys.argv) > 2)
""",
    "a comment": trainer("train", f"# {SOFT}", DEFINITE),
    "no placement": trainer("train", SOFT.replace("True", "False"), DEFINITE),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_soft_placement_silences_only_its_own_program(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    assert reported(text, tmp_path, ["TPU501"]) == expected(text, ["TPU501"])
