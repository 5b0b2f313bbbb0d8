"""The text that the fix of TPU604 writes."""

from __future__ import annotations

from pathlib import Path

from tests.rules.fixing import after, estimator


def test_the_optimizer_is_wrapped(tmp_path: Path) -> None:
    text = estimator(optimizer="tf.train.AdamOptimizer(0.1)")
    wrapped = "tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.1))"
    assert after(text, "TPU604", tmp_path) == estimator(optimizer=wrapped).lstrip("\n")


def test_the_wrapper_has_the_name_that_the_file_knows(tmp_path: Path) -> None:
    for number, imported in enumerate(("tensorflow as tf", "os, tensorflow as tf")):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = estimator(tensorflow=imported, optimizer="tf.train.AdamOptimizer()")
        wrapped = "tf.compat.v1.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())"
        expected = estimator(tensorflow=imported, optimizer=wrapped)
        assert after(text, "TPU604", folder) == expected.lstrip("\n")
