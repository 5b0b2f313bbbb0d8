"""Settings that a user makes for a whole run: which entry of a table they choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked

CHOSEN = """
import argparse, json, os, sys
import tensorflow as tf
import yaml
from easydict import EasyDict
from omegaconf import OmegaConf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())

class Total(tf.keras.Model):
    def call(self, x):
        return tf.reduce_sum(x).numpy(){mark}

class Largest(tf.keras.Model):
    def call(self, x):
        return tf.reduce_max(x)

REDUCES = {{"total": Total, "largest": Largest}}
{read}
with strategy.scope():
    reduce = REDUCES[{setting}]()

def step(x):
    return reduce(x)

@tf.function
def train(x):
    return strategy.run(step, args=(x,))

train(tf.zeros([8]))
"""
OPENED = "with open('config') as file:\n    config = "
SETTINGS = {
    "YAML": (f"{OPENED}yaml.safe_load(file)", "config['reduce']"),
    "YAML with a default": (f"{OPENED}yaml.safe_load(file)", "config.get('reduce', 'total')"),
    "JSON": (f"{OPENED}json.load(file)", "config['model']['reduce'].lower()"),
    "EasyDict": (f"{OPENED}EasyDict(json.load(file))", "config.model.reduce"),
    "OmegaConf": ("config = OmegaConf.load('config')", "config.model.reduce"),
    "the environment": ("", "os.environ['REDUCE']"),
    "the environment with a default": ("", "os.environ.get('REDUCE', 'total')"),
    "a variable of the environment": ("", "os.getenv('REDUCE')"),
    "options as a dict": (
        "options = vars(argparse.ArgumentParser().parse_args())",
        "options['reduce']",
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_chooses_among_the_entries_of_a_table(name: str, tmp_path: Path) -> None:
    read, setting = SETTINGS[name]
    text = CHOSEN.format(read=read, setting=setting, mark="  # error: TPU507")
    assert_marked(text, tmp_path)


ROWS = ("for line in open('rows'):\n    row = json.loads(line)", "row['reduce']")


def test_a_row_of_data_is_no_setting(tmp_path: Path) -> None:
    text = CHOSEN.format(read=ROWS[0], setting=ROWS[1], mark="  # possible: TPU507")
    assert_marked(text, tmp_path)


NAMED = """
import sys
import tensorflow as tf

if sys.argv[1] == "tpu":
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)
else:
    strategy = tf.distribute.MirroredStrategy()

def step(x):
    return x * 2

def multi_gpu_train():
    strategy.run(step, args=(tf.zeros([8]),)){mark}

{call}
"""
CALLS = {
    "each run": ("multi_gpu_train()", "  # error: TPU701"),
    "some runs": ("if len(sys.argv) > 2:\n    multi_gpu_train()", ""),
    "nothing that is seen": ("", ""),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_that_is_named_for_gpus_runs_on_the_tpu(name: str, tmp_path: Path) -> None:
    call, mark = CALLS[name]
    assert_marked(NAMED.format(call=call, mark=mark), tmp_path)
