"""Two places under two tests: whether one run reaches both, seen through a deadlock (TPU101).

The device holds a variable where the first test says so, and the host wants it where the second
does.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import V1

BUILD = """
import sys
from absl import flags

FLAGS = flags.FLAGS
ON_HOLDER = flags.DEFINE_boolean("on", False, "")
KIND = flags.DEFINE_enum("kind", "a", ["a", "b", "c"], "")
total = tf.get_variable("total", [], use_resource=True)
ON, OFF, NAMES, SET = True, False, {{"a": 1}}, frozenset(sys.argv)

class Model:
    def build(self, x, on, other, mode, given=None):
        state = False
        if other:
            state = True

        def host(v):
            if {host}:
                v = v + total
            return v * 2.0

        def computation(x):
            if {device}:
                total.assign(x)
            with tf.control_dependencies([x * 1]):
                return tf.tpu.outside_compilation(host, x * 2.0) + 1.0

        return tf.tpu.rewrite(computation, [x])
"""
# The tests of the device and of the host, and how sure it is that one run passes both.
TESTS = [
    ("ON", "ON", "definite"),
    ("ON", "on", "definite"),
    ("on", "ON", "possible"),
    ("on", "on", "definite"),
    ("on", "not on", ""),
    ("not on", "on", ""),
    ("not on", "not on", "definite"),
    ("not not on", "on", "definite"),
    ("on", "other", "possible"),
    ("on and other", "on", "possible"),
    ("on or other", "on", "possible"),
    ("mode == 'a'", "mode == 'a'", "definite"),
    ("mode == 'a'", "mode == 'b'", ""),
    ("mode == 'a'", "other == 'b'", "possible"),
    ("mode == tf.estimator.ModeKeys.TRAIN", "mode == tf.estimator.ModeKeys.EVAL", ""),
    ("mode == tf.estimator.ModeKeys.TRAIN", "mode == tf.estimator.ModeKeys.TRAIN", "definite"),
    ("mode == 'a'", "not mode == 'a'", ""),
    ("mode == 'a'", "mode != 'a'", ""),
    ("FLAGS.on", "FLAGS.on", "definite"),
    ("FLAGS.on", "FLAGS.other", "possible"),
    ("FLAGS.kind == 'a'", "FLAGS.kind == 'a'", "definite"),
    ("FLAGS.kind == 'a'", "FLAGS.kind == 'b'", ""),
    ("FLAGS.kind == 'a'", "FLAGS.kind != 'b'", "possible"),
    ("FLAGS.on", "ON_HOLDER.value", "definite"),
    ("FLAGS.other", "ON_HOLDER.value", "possible"),
    ("FLAGS.kind == 'a'", "KIND.value == 'a'", "definite"),
    ("KIND.value == 'a'", "KIND.value == 'b'", ""),
    ("KIND.value == 'a'", "FLAGS.kind == 'b'", ""),
    ("KIND.value == 'a'", "ON_HOLDER.value == 'b'", "possible"),
    ("KIND.default == 'a'", "FLAGS.kind == 'b'", "possible"),
    ("FLAGS.kind != 'a'", "FLAGS.kind == 'b'", "definite"),
    ("FLAGS.kind == 'a'", "FLAGS.other == 'a'", "possible"),
    ("FLAGS.kind is None", "FLAGS.kind is not None", ""),
    ("FLAGS.kind is None", "FLAGS.kind is None", "definite"),
    ("'a' in FLAGS.kind", "'a' in FLAGS.kind", "definite"),
    ("'a' in FLAGS.kind", "'b' in FLAGS.kind", "possible"),
    ("'a' in FLAGS.kind", "'a' not in FLAGS.kind", ""),
    ("self.on", "self.on", "definite"),
    ("self.on", "self.other", "possible"),
    ("state", "state", "possible"),
    ("given is None", "given is None", "possible"),
    ("hasattr(x, 'a')", "hasattr(x, 'a')", "possible"),
    ("len(sys.argv)", "len(sys.argv)", "possible"),
    ("'a' in NAMES", "'a' in NAMES", "definite"),
    ("'a' in NAMES", "'a' not in NAMES", ""),
    ("'a' in SET", "'a' in SET", "possible"),
    ("OFF", "on", ""),
    ("ON", "OFF", ""),
    ("not OFF", "not OFF", "definite"),
    ("use_tpu", "self.use_tpu", "definite"),
    ("use_tpu", "not FLAGS.use_tpu", ""),
    ("use_tpu", "FLAGS.tpu_name is not None", "definite"),
    ("use_tpu", "FLAGS.tpu_name is None", ""),
    ("Model", "self", "definite"),
    ("[]", "on", ""),
    ("host", "sys", "definite"),
    ("1 == 1", "'a' != 'b'", "definite"),
]


@pytest.mark.parametrize(("device", "host", "certainty"), TESTS)
def test_one_run_may_pass_both_tests(
    device: str, host: str, certainty: str, tmp_path: Path
) -> None:
    text = V1 + BUILD.format(device=device, host=host)
    actual = certainties(text, tmp_path, "TPU101")
    assert actual == ([certainty] if certainty else [])
