"""The names in the bytes of a file, as they are written to the cache."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tpulint.frontends.tensorflow.spelling_search import missing_somewhere

SOURCE = """import tensorflow as tf
import tensorflow.compat.v1 as tf1

tf.contrib.tpu.rewrite
tf1.train.Feature(int64_list=tf1.train.Int64List())
tf.contrib.tpu.rewrite
"""
SCRIPT = """import sys
from tpulint.frontends.tensorflow.spelling_search import missing_somewhere
print(*missing_somewhere(sys.stdin.buffer.read()))
"""


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_order_of_names_is_the_same_in_each_process(seed: str) -> None:
    """Another order would look like an edit to the next check, which then divides all files."""
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=SOURCE.encode(),
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
        timeout=60,
    )
    names = missing_somewhere(SOURCE.encode())
    assert len(names) > 2
    assert run.stdout.decode().split() == list(names) == sorted(set(names))
