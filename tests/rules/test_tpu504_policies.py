"""Policies of mixed precision in files of which one process runs only some."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

FAMILY = ["TPU504"]
OPENING = """
# file: {name}.py
import tensorflow as tf
"""
HALF = 'tf.keras.mixed_precision.set_global_policy("mixed_float16")'
MODEL = """
def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""
TRAIN = """
def train():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)

    @tf.function
    def step(x):
        return strategy.run(lambda y: y, args=(x,))

    step(tf.zeros([8, 1]))
"""
MIRRORED = """
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = {common}.build()
    model.compile("adam", "mse")
    model.fit(tf.zeros([8, 1]), tf.zeros([8, 1]))
"""
# The common module, the script that trains on a TPU, the test on GPUs.
NAMES = list(permutations(["first", "middle", "zlast"]))


@pytest.mark.parametrize("names", NAMES, ids="-".join)
def test_a_policy_of_gpus_beside_a_script_for_tpus(
    names: tuple[str, str, str], tmp_path: Path
) -> None:
    common, script, tested = names
    text = (
        OPENING.format(name=common)
        + MODEL
        + OPENING.format(name=script)
        + f"import {common}\n{TRAIN}\nmodel = {common}.build()\ntrain()\n"
        + OPENING.format(name=tested)
        + f"import {common}\n\ndef test_half():\n    {HALF}"
        + MIRRORED.format(common=common)
    )
    assert not reported(text, tmp_path, FAMILY)


@pytest.mark.parametrize("names", NAMES, ids="-".join)
def test_a_policy_of_gpus_beside_a_function_for_tpus(
    names: tuple[str, str, str], tmp_path: Path
) -> None:
    common, script, tested = names
    text = (
        OPENING.format(name=common)
        + MODEL
        + TRAIN
        + OPENING.format(name=script)
        + f"import {common}\n\n{common}.train()  # on a TPUStrategy()\n"
        + OPENING.format(name=tested)
        + f"import {common}\n\ndef test_half():\n    {HALF}"
        + MIRRORED.format(common=common)
    )
    assert not reported(text, tmp_path, FAMILY)


@pytest.mark.parametrize("names", NAMES, ids="-".join)
def test_a_policy_that_a_common_module_sets_for_gpus(
    names: tuple[str, str, str], tmp_path: Path
) -> None:
    common, script, tested = names
    text = (
        OPENING.format(name=common)
        + f"{MODEL}\ndef fit(model, strategy):\n    {HALF}\n"
        + "    with strategy.scope():\n        model.fit(tf.zeros([8, 1]), tf.zeros([8, 1]))\n"
        + OPENING.format(name=script)
        + f"import {common}\n{TRAIN}\nmodel = {common}.build()\ntrain()\n"
        + OPENING.format(name=tested)
        + f"import {common}\n\nstrategy = tf.distribute.MirroredStrategy()\n"
        + f"with strategy.scope():\n    model = {common}.build()\n{common}.fit(model, strategy)\n"
    )
    assert not reported(text, tmp_path, FAMILY)


PROGRAMS = {
    "a script that sets the policy and calls what trains": OPENING.format(name="training")
    + TRAIN
    + OPENING.format(name="main")
    + f"import training\n\n{HALF}  # possible: TPU504\ntraining.train()  # TPUStrategy()\n",
    "a script that trains with what sets the policy": OPENING.format(name="models")
    + f"\ndef build(strategy):\n    {HALF}  # possible: TPU504\n"
    + "    with strategy.scope():\n        return tf.keras.Sequential()\n"
    + OPENING.format(name="main")
    + f"import models\n{TRAIN}\ntrain()\nmodels.build(tf.distribute.get_strategy())\n",
    "a script that imports what sets the policy and what trains": OPENING.format(name="models")
    + f"\n{HALF}  # possible: TPU504\nstrategy = tf.distribute.get_strategy()\n"
    + "with strategy.scope():\n    tf.keras.Sequential().fit(tf.zeros([8, 1]))\n"
    + OPENING.format(name="training")
    + TRAIN
    + OPENING.format(name="main")
    + "import models, training\n\ntraining.train()  # TPUStrategy()\n",
    "a script that imports both by way of others": OPENING.format(name="models")
    + f"\n{HALF}  # possible: TPU504\nstrategy = tf.distribute.get_strategy()\n"
    + "with strategy.scope():\n    tf.keras.Sequential().fit(tf.zeros([8, 1]))\n"
    + OPENING.format(name="training")
    + TRAIN
    + OPENING.format(name="more")
    + "import models\n"
    + OPENING.format(name="main")
    + "import more, training\n\ntraining.train()  # TPUStrategy()\n",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_policy_in_a_script_for_tpus(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILY) == expected(text, FAMILY)


SETTINGS = """
# file: settings.py
POLICY = "mixed_float16"

class Training:
    policy = "mixed_float16"
"""
SETS_POLICY = "tf.keras.mixed_precision.set_global_policy({policy})"


@pytest.mark.parametrize(
    ("between", "policy", "count"),
    [
        ("", "settings.POLICY", 1),
        ("", "settings.Training.policy", 1),
        ('settings.POLICY = "mixed_bfloat16"', "settings.POLICY", 0),
        ("settings.POLICY = read_options().policy", "settings.POLICY", 0),
        ("for name in options: setattr(settings, name, 0)", "settings.POLICY", 0),
    ],
)
def test_a_policy_of_a_module_of_settings(
    between: str, policy: str, count: int, tmp_path: Path
) -> None:
    """The module is read although no word in it is of a TPU; what others set there counts."""
    script = OPENING.format(name="main") + f"import settings\n{TRAIN}\n{between}\n"
    script += SETS_POLICY.format(policy=policy) + "\ntrain()\n"
    assert len(reported(script + SETTINGS, tmp_path, FAMILY)) == count


def test_a_policy_behind_a_flag_that_takes_both_values(tmp_path: Path) -> None:
    """A flag that is set in the program is read like one that comes from outside."""
    text = (
        OPENING.format(name="script")
        + "import sys\nuse_tpu = False\nif len(sys.argv) > 1:\n    use_tpu = True\n"
        + f"if use_tpu:\n    {HALF}  # possible: TPU504\nelse:\n    {HALF}\n"
        + TRAIN
        + "\ntrain()\n"
    )
    assert reported(text, tmp_path, FAMILY) == expected(text, FAMILY)


MODE_AND_PRECISION = """
import json
import tensorflow as tf

settings = json.load(open("settings.json"))
if settings["mode"] == "tpu":
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)
    if settings["mixed_precision"]:
        tf.keras.mixed_precision.set_global_policy("mixed_float16")  # possible: TPU504
else:
    strategy = tf.distribute.MirroredStrategy()
    if settings["mixed_precision"]:
        tf.keras.mixed_precision.set_global_policy("mixed_float16")
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
model.fit(tf.zeros([8, 1]), tf.zeros([8, 1]))
"""


def test_a_policy_beside_the_strategy_of_the_tpu(tmp_path: Path) -> None:
    """A missed alarm: that a flag asks for precision does not make the branch one of GPUs."""
    text = MODE_AND_PRECISION
    assert reported(text, tmp_path, FAMILY) == expected(text, FAMILY)


LAYERS = """
import tensorflow as tf

{policy}
resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1{dtype})])
    model.compile("adam", "mse")
model.fit(tf.zeros([8, 1]), tf.zeros([8, 1]), batch_size=8)
"""
POLICIES = {
    "a fault: a policy that layers of a TPU follow": (f"{HALF}  # error: TPU504", ""),
    "layers of their own dtype": (f"{HALF}  # possible: TPU504", ', dtype="float32"'),
    "another policy follows": (
        f"{HALF}  # possible: TPU504\n"
        + 'tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")',
        "",
    ),
    "another strategy is for GPUs": (
        f"{HALF}  # possible: TPU504\ngpus = tf.distribute.MirroredStrategy()",
        "",
    ),
    "under a condition": (f"import sys\nif sys.argv[1:]:\n    {HALF}  # possible: TPU504", ""),
}


@pytest.mark.parametrize(("policy", "dtype"), POLICIES.values(), ids=POLICIES)
def test_a_policy_and_the_layers_of_a_tpu(policy: str, dtype: str, tmp_path: Path) -> None:
    text = LAYERS.format(policy=policy, dtype=dtype)
    assert reported(text, tmp_path, FAMILY) == expected(text, FAMILY)


BRANCHES = """
import sys
import tensorflow as tf

try:
    tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
    {in_try}
except ValueError:
    tpu = None
    gpus = tf.distribute.MirroredStrategy()
if tpu:
    tf.config.experimental_connect_to_cluster(tpu)
    tf.tpu.experimental.initialize_tpu_system(tpu)
    strategy = tf.distribute.TPUStrategy(tpu)
    {with_tpu}
else:
    strategy = tf.distribute.get_strategy()
    {without}
{after}
with strategy.scope():
    model = tf.keras.Sequential([{layer}])
    model.compile("adam", "mse")
model.fit(tf.zeros([8, 1]), tf.zeros([8, 1]), batch_size=8)
"""
OF_TPUS = 'tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")'
DENSE = "tf.keras.layers.Dense(1)"
IN_BRANCHES = {
    "a fault: with the strategy of the TPU": {"with_tpu": f"{HALF}  # error: TPU504"},
    "a fault: where the TPU was found": {"in_try": f"{HALF}  # error: TPU504"},
    "a fault: an application follows it": {
        "with_tpu": f"{HALF}  # error: TPU504",
        "layer": "tf.keras.applications.VGG16(weights=None)",
    },
    "a fault: the other branch has its own": {
        "with_tpu": f"{HALF}  # error: TPU504",
        "without": OF_TPUS,
    },
    "a fault: for all runs, with GPUs in the handler": {"after": f"{HALF}  # error: TPU504"},
    "a fault: an object that is set": {
        "after": 'half = tf.keras.mixed_precision.Policy("mixed_float16")  # error: TPU504\n'
        "tf.keras.mixed_precision.set_global_policy(half)"
    },
    "a fault: by Keras 3's name": {
        "after": 'tf.keras.config.set_dtype_policy("mixed_float16")  # error: TPU504'
    },
    "an object that nothing sets": {
        "after": 'half = tf.keras.mixed_precision.Policy("mixed_float16")  # possible: TPU504'
    },
    "layers of their own dtype": {
        "with_tpu": f"{HALF}  # possible: TPU504",
        "layer": 'tf.keras.layers.Dense(1, dtype="float32")',
    },
    "a flag decides": {"with_tpu": f"if sys.argv[1:]:\n        {HALF}  # possible: TPU504"},
    "another policy follows": {"with_tpu": f"{HALF}  # possible: TPU504", "after": OF_TPUS},
    "without a TPU": {"without": HALF, "with_tpu": OF_TPUS},
}


@pytest.mark.parametrize("parts", IN_BRANCHES.values(), ids=IN_BRANCHES)
def test_a_policy_in_the_branch_of_the_tpu(parts: dict[str, str], tmp_path: Path) -> None:
    nothing = dict.fromkeys(["in_try", "with_tpu", "without"], "pass")
    text = BRANCHES.format(**{**nothing, "after": "", "layer": DENSE, **parts})
    assert reported(text, tmp_path, FAMILY) == expected(text, FAMILY)
