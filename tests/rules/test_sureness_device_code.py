"""Loops, contexts and settings that decide whether an operation is compiled for a TPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import STRATEGY, V1

TRAINED = """
@tf.function
def train(x):
    strategy.run(step, args=(x,))

train(tf.zeros([8]))
"""
REWRITTEN = "\ntf.tpu.rewrite(computation, [tf.zeros([4])])\n"

PROGRAMS = {
    "a loop over the GPUs, of which a TPU's host has none": STRATEGY
    + """
def step(x):
    for gpu in tf.config.list_logical_devices("GPU"):
        tf.as_string(x)
    return x
"""
    + TRAINED,
    "loops over other devices, and over what lies in a folder of that name": STRATEGY
    + """
def step(x):
    for tpu in tf.config.list_logical_devices("TPU"):
        tf.as_string(x)  # error: TPU501
    for device in tf.config.list_logical_devices():
        tf.as_string(x)  # error: TPU501
    for name in tf.io.gfile.listdir("GPU"):
        tf.as_string(x)  # error: TPU501
    return x
"""
    + TRAINED,
    "in a context that is not seen": V1
    + """
from library import somewhere

def computation(x):
    with somewhere():
        tf.as_string(x)  # possible: TPU501
    return x
"""
    + REWRITTEN,
    "soft placement": V1
    + """
tf.config.set_soft_device_placement(
    enabled=True,
)

def computation(x):
    tf.as_string(x)
    return x
"""
    + REWRITTEN,
    "no soft placement": V1
    + """
tf.config.set_soft_device_placement(False)

def computation(x):
    tf.as_string(x)  # error: TPU501
    return x
"""
    + REWRITTEN,
    "soft placement, but for one flag": V1
    + """
import sys

tf.config.set_soft_device_placement(False if "--hard" in sys.argv else True)

def computation(x):
    tf.as_string(x)  # possible: TPU501
    return x
"""
    + REWRITTEN,
    "soft placement, where a flag says so": V1
    + """
import sys

tf.config.set_soft_device_placement("--soft" in sys.argv)

def computation(x):
    tf.as_string(x)  # possible: TPU501
    return x
"""
    + REWRITTEN,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_it_is_said_as_surely_as_it_is_compiled(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, ["TPU"]) == expected(text, ["TPU"])
