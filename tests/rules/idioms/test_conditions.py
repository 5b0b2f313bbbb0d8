"""Conditions that keep the two sides of a conflict apart, or bring them together.

The device adds to `total` under one condition; the host, for which it waits, reads under another.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import V1

PROGRAM = (
    V1
    + """
import library

def build(mode, flag, other, params):
    total = tf.get_variable("total", [], use_resource=True)

    def host(x):
        if {host}:
            x = x / total.read_value()
        return x + 1.0

    def computation(x):
        if {device}:
            total.assign_add(1.0)
        with tf.control_dependencies([x * 1]):
            return x + tf.tpu.outside_compilation(host, x * 2.0)

    return tf.tpu.rewrite(computation, [tf.zeros([4])])
"""
)
# The device's condition, the host's, and the certainty of the finding at the host's read.
CONDITIONS = {
    ("flag", "flag"): "definite",
    ("flag", "not flag"): None,
    ("not flag", "flag"): None,
    ("not flag", "not flag"): "definite",
    ("flag", "not not flag"): "definite",
    ("flag", "other"): "possible",
    ("flag", "flag and other"): "possible",
    ("flag and other", "flag"): "possible",
    ("library.FLAG", "library.FLAG"): "definite",
    ("library.FLAG", "library.OTHER"): "possible",
    ('mode == "train"', 'mode == "train"'): "definite",
    ('mode == "train"', 'mode == "eval"'): None,
    ('mode == "train"', 'not mode == "train"'): None,
    ('mode != "train"', 'mode != "eval"'): "possible",
    ('mode == "train"', 'mode != "train"'): None,
    ('mode != "train"', 'mode == "eval"'): "definite",
    ('not mode == "train"', 'mode == "eval"'): "definite",
    ('mode == "eval"', 'mode != "train"'): "possible",
    ('mode == "train"', 'not mode == "eval"'): "possible",
    ('mode == "train"', 'params == "eval"'): "possible",
    ('mode == "train"', "mode"): "possible",
    ('mode == "train"', "flag"): "possible",
    ("params.train", "params.train"): "definite",
    ("params.train", "params.other"): "possible",
}


@pytest.mark.parametrize(("device", "host"), CONDITIONS)
def test_one_run_may_reach_both_branches(device: str, host: str, tmp_path: Path) -> None:
    text = PROGRAM.format(device=device, host=host)
    actual = certainties(text, tmp_path, "TPU101")
    assert actual == ([CONDITIONS[device, host]] if CONDITIONS[device, host] else [])


def test_a_test_that_is_asked_twice_may_have_two_answers(tmp_path: Path) -> None:
    text = f"""{V1}
import library

total = tf.get_variable("total", [], use_resource=True)

def touch(x):
    if library.ask():
        total.assign_add(1.0)
    else:
        x = x / total.read_value()
    return x + 1.0

def computation(x):
    touch(x)
    with tf.control_dependencies([x * 1]):
        return x + tf.tpu.outside_compilation(touch, x * 2.0)

tf.tpu.rewrite(computation, [tf.zeros([4])])
"""
    actual = certainties(text, tmp_path, "TPU101")
    assert actual == ["possible"]  # the write: nobody waits for it


ON_THE_WAY = (
    V1
    + """
def build(mode, flag, other):
    total = tf.get_variable("total", [], use_resource=True)

    def add():
        total.assign_add(1.0)

    def add_twice():
        total.assign_add(2.0)

    def pass_by():
        return None

    def host(x):
        return x / total.read_value()

    def computation(x):
        touch()
        {way}
        with tf.control_dependencies([x * 1]):
            return x + tf.tpu.outside_compilation(host, x * 2.0)

    def touch():
        {touch}

    return tf.tpu.rewrite(computation, [tf.zeros([4])])
"""
)
MODE = "tf.estimator.ModeKeys"
TRAINS = f"if mode == {MODE}.TRAIN: add()"
# The way of the device to its touch, then that to the host, and the certainty that
# both sides touch the variable.
WAYS = {
    "unless it fails": ("if flag: raise ValueError(flag)\n        add()", "pass", "definite"),
    "unless it fails, or else": (
        "if flag:\n            pass\n        else: raise ValueError(flag)\n        add()",
        "pass",
        "definite",
    ),
    "unless it fails for one of several reasons": (
        "if flag:\n            if other: raise ValueError(flag)\n"
        "            else: raise TypeError(flag)\n        add()",
        "pass",
        "definite",
    ),
    "unless it fails, which is caught": (
        "try:\n            if flag: raise ValueError(flag)\n            add()\n"
        "        except ValueError:\n            pass",
        "pass",
        "possible",
    ),
    "unless it fails, which is not caught": (
        "try:\n            if flag: raise ValueError(flag)\n            add()\n"
        "        finally:\n            pass_by()",
        "pass",
        "definite",
    ),
    "unless it fails, which the caller catches": (
        "def inner():\n            if flag: raise ValueError(flag)\n            add()\n"
        "        try: inner()\n        except ValueError: pass",
        "pass",
        "possible",
    ),
    "unless it returns": ("if flag: return\n        add()", "pass", "possible"),
    "unless it returns or fails": (
        "if flag:\n            if other: return\n            raise ValueError(flag)\n        add()",
        "pass",
        "possible",
    ),
    "unless it fails, where it has not returned": (
        "if flag: raise ValueError(flag)\n        else:\n"
        "            if other: return\n        add()",
        "pass",
        "possible",
    ),
    "by one function or the other": ("(add if flag else add_twice)()", "pass", "definite"),
    "by one function of two": ("(add if flag else pass_by)()", "pass", "possible"),
    "by a function that is not seen, or one that is": (
        "(add if flag else other)()",
        "pass",
        "possible",
    ),
    "in the only mode that is left": (
        TRAINS,
        f"if mode == {MODE}.EVAL: return x\n        if mode == {MODE}.PREDICT: return x",
        "definite",
    ),
    "in one of the modes that are left": (
        TRAINS,
        f"if mode == {MODE}.PREDICT: return x",
        "possible",
    ),
    "in the only mode that is left of something else": (
        TRAINS,
        f"if mode == {MODE}.EVAL: return x\n        if other == {MODE}.PREDICT: return x",
        "possible",
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_the_device_has_touched_it_before_the_host(name: str, tmp_path: Path) -> None:
    touch, way, certainty = WAYS[name]
    text = ON_THE_WAY.format(touch=touch, way=way)
    assert certainties(text, tmp_path, "TPU101") == [certainty]
