"""Programs with TPU504, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import SYSTEM

STEP = (
    SYSTEM
    + """

def replica_step(batch):
    image, name = batch
    return {returned}


@tf.function
def predict(batch):
    return strategy.run(replica_step, args=(batch,)){mark}


dataset = {dataset}
for batch in strategy.experimental_distribute_dataset(dataset.batch(8, drop_remainder=True)):
    predict(batch)
"""
)
STRINGS = "tf.data.Dataset.from_tensor_slices((tf.ones([8, 4]), tf.constant(['a', 'b'] * 4)))"
MARK = "  # error: TPU504"
DATASETS = {
    "strings that the step returns": STEP.format(
        returned="tf.reduce_mean(image), name", mark=MARK, dataset=STRINGS
    ),
    "strings that an operation takes": STEP.format(
        returned="tf.reshape(name, [-1])", mark=MARK, dataset=f"{STRINGS}.shuffle(8).repeat()"
    ),
    "lists of strings": STEP.format(
        returned="batch",
        mark=MARK,
        dataset="tf.data.Dataset.from_tensor_slices(([1, 2], ['a', 'b']))",
    ),
    "strings that a function of the pipeline makes": STEP.format(
        returned="name",
        mark=MARK,
        dataset="tf.data.Dataset.range(8).map(lambda n: (n, tf.constant('a')))",
    ),
    "strings of one of two datasets": STEP.format(
        returned="name",
        mark=MARK,
        dataset="tf.data.Dataset.zip((tf.data.Dataset.range(8), tf.data.Dataset"
        ".from_tensor_slices(['a', 'b'])))",
    ),
    "strings that the step leaves alone: TensorFlow drops them": STEP.format(
        returned="tf.reduce_mean(image)", mark="", dataset=STRINGS
    ),
    "strings that the pipeline has made numbers of": STEP.format(
        returned="name",
        mark="",
        dataset=f"{STRINGS}.map(lambda x, name: (x, tf.strings.to_hash_bucket_fast(name, 64)))",
    ),
    "of a list tf.data makes one tensor": STEP.format(
        returned="name", mark="", dataset="tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])"
    ),
}
PROGRAMS = DATASETS | {
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
    "seconds since 1970, and a sum": """
        import tensorflow.compat.v1 as tf
        def age(written):
            return tf.timestamp() - tf.cast(written, tf.float64)  # error: TPU501
        def total(x):
            return tf.reduce_sum(tf.cast(x, tf.float64))  # possible: TPU504
        def computation(x):
            return tf.cast(age(x), tf.float32) + tf.cast(total(x), tf.float32)
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
