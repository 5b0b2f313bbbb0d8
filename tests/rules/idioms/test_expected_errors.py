"""Faults that a test makes on purpose: what is expected to raise is not reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

SILENT = {
    "a block that must raise": """
        import tensorflow as tf
        tpu = tf.compat.v1.tpu
        class ReplicateTest(tf.test.TestCase):
            def test_inputs(self):
                with self.assertRaisesRegex(TypeError, "list of lists"):
                    tpu.replicate(lambda x: x, [1, 2])
    """,
    "a block that must raise, of pytest": """
        import pytest
        import tensorflow as tf
        tpu = tf.compat.v1.tpu
        def test_nesting():
            def computation(x):
                return tpu.outside_compilation(lambda y: tpu.outside_compilation(abs, y), x)
            with tf.Graph().as_default(), pytest.raises(NotImplementedError):
                tpu.rewrite(computation, [tf.constant(1.0)])
    """,
    "a call that must raise": """
        import tensorflow as tf
        tpu = tf.compat.v1.tpu
        class ReplicateTest(tf.test.TestCase):
            def test_inputs(self):
                self.assertRaises(TypeError, tpu.replicate, lambda x: x, [1, 2])
                self.assertRaises(TypeError, lambda: tpu.replicate(lambda x: x, [1, 2]))
    """,
    "a test that is marked to fail": """
        import unittest
        import tensorflow as tf
        tpu = tf.compat.v1.tpu
        class ReplicateTest(tf.test.TestCase):
            @unittest.expectedFailure
            def test_inputs(self):
                tpu.replicate(lambda x: x, [1, 2])
    """,
}
ALARMS = {
    "what follows the block": """
        import tensorflow as tf
        tpu = tf.compat.v1.tpu
        class ReplicateTest(tf.test.TestCase):
            def test_inputs(self):
                with self.assertRaises(TypeError):
                    tpu.replicate(lambda x: x, [1, 2])
                tpu.replicate(lambda x: x, [1, 2])  # error: TPU401
    """,
    "what another module defines": """
        # file: a_test.py
        import pytest
        from train import build
        import tensorflow.compat.v1.tpu
        def test_build():
            with pytest.raises(TypeError):
                build()
        # file: train.py
        import tensorflow as tf
        def build():
            return tf.compat.v1.tpu.replicate(lambda x: x, [1, 2])  # error: TPU401
    """,
}


@pytest.mark.parametrize("name", SILENT)
def test_an_expected_error_is_silent(name: str, tmp_path: Path) -> None:
    assert reported(SILENT[name], tmp_path, ["TPU"]) == []


@pytest.mark.parametrize("name", ALARMS)
def test_a_fault_outside_the_expected_error_is_reported(name: str, tmp_path: Path) -> None:
    assert reported(ALARMS[name], tmp_path, ["TPU"]) == expected(ALARMS[name], ["TPU"])
