"""Programs with TPU504, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked

PROGRAMS = {
    "strings that the compiler holds for an assertion": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            with tf.control_dependencies([tf.debugging.assert_positive(x, message="x")]):
                return tf.identity(x)
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "an alias of a dtype": """
        import numpy as np
        import tensorflow.compat.v1 as tf
        def computation(x):
            wide = tf.to_double(x)  # possible: TPU504
            return tf.cast(x, np.complex128), wide  # error: TPU504
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
