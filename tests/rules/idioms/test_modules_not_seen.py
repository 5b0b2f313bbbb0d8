"""Programs that get their strategy, or TensorFlow itself, from a module that is not in the project.

Notebooks do so with the scripts of their author, which are files of another place.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

FAMILIES = ("TPU5", "TPU7")

STEP = """
if tpu:
    tf.tpu.experimental.initialize_tpu_system(tpu)

@tf.function
def train(rows):
    def step(x):
        if np.random.rand() > 0.5:  # error: TPU506
            x = -x
        return tf.reduce_sum(tf.cast(x, tf.float32)).numpy()  # error: TPU507

    strategy.run(step, args=(next(rows),))

data = tf.data.Dataset.range(64).batch(8, drop_remainder=True)
train(iter(strategy.experimental_distribute_dataset(data)))
"""
IMPORTS = "import numpy as np\nimport tensorflow as tf\n"
LOOP = """
data = tf.data.Dataset.range(64).batch(8, drop_remainder=True)
for rows in strategy.experimental_distribute_dataset(data):
    total = float(rows){mark}
"""

PROGRAMS = {
    "a pair of a strategy and its resolver": IMPORTS
    + """
from scripts import set_up_strategy

strategy, tpu = set_up_strategy()
"""
    + STEP,
    "a function of an object of the module": IMPORTS
    + """
import scripts

strategy, tpu = scripts.tools.get_strategy(), True
"""
    + STEP,
    "everything by a star import": """
from scripts import *

strategy, tpu = set_up_strategy()
"""
    + STEP,
    "a distributed dataset": IMPORTS
    + """
from scripts import get_strategy

strategy = get_strategy(tpu="local")
"""
    + LOOP.format(mark="  # possible: TPU711"),
    "a program that names no TPU": IMPORTS
    + """
from scripts import get_strategy

strategy = get_strategy()
"""
    + LOOP.format(mark="")
    + """
@tf.function
def train(x):
    strategy.run(lambda x: x.numpy(), args=(x,))

train(tf.zeros([8]))
""",
    "a pair of which only one is a strategy": IMPORTS
    + """
from scripts import set_up_strategy

strategy, tpu = set_up_strategy()
rows = list(tpu.hosts)
total = float(rows[0])
tpu.extend(rows)
""",
    "another kind of strategy": """
import asyncio
from scripts import trading_strategy

tpu = None
strategy = trading_strategy("momentum")
asyncio.run(strategy.start())
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_an_unseen_module_gives(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


REDEFINED = """
import tensorflow as tf
from {package} import *

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)

@tf.function
def train(x):
    def step(x):
        print("step", x){mark}
        return x

    strategy.run(step, args=(x,))

train(tf.zeros([]))
"""


@pytest.mark.parametrize(
    ("package", "mark"),
    [
        ("scripts", "  # error: TPU506"),
        ("torch", ""),
        ("tensorflow", "  # error: TPU501"),
        ("tensorflow.keras.layers", "  # error: TPU506"),
        ("keras.callbacks", "  # error: TPU506"),
    ],
)
def test_the_functions_of_python_after_a_star_import(
    package: str, mark: str, tmp_path: Path
) -> None:
    text = REDEFINED.format(package=package, mark=mark)
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)


SEVERAL_STARS = """
import tensorflow as tf
{imports}

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)


class Loud(Model):
    def train_step(self, data):
        return {{"loss": float(data[0])}}{mark}


with strategy.scope():
    model = Loud()
    model.compile("adam")
model.fit([1.0], [1.0])
"""
STARS = {
    "the model is Keras's": (
        "from tensorflow.config import *\nfrom tensorflow.keras import *",
        "  # error: TPU507",
    ),
    "the last one with the name binds it": (
        "from keras import *\nfrom keras.optimizers import *\nfrom keras.callbacks import *",
        "  # error: TPU507",
    ),
    "none of them has the name": ("from tensorflow.config import *\nfrom absl import *", ""),
}


@pytest.mark.parametrize("name", STARS)
def test_several_star_imports(name: str, tmp_path: Path) -> None:
    imports, mark = STARS[name]
    text = SEVERAL_STARS.format(imports=imports, mark=mark)
    assert reported(text, tmp_path, FAMILIES) == expected(text, FAMILIES)
