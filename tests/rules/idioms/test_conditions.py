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
    ('mode != "train"', 'mode == "eval"'): "possible",
    ('not mode == "train"', 'mode == "eval"'): "possible",
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
    found = certainties(text, tmp_path, "TPU101")
    assert found == ([CONDITIONS[device, host]] if CONDITIONS[device, host] else [])


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
    found = certainties(text, tmp_path, "TPU101")
    assert found == ["possible"]  # the write: nobody waits for it
