"""A safe fix keeps the meaning: a program gives equal values before and after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rules.analysis import program
from tests.rules.fixing import fixed
from tpulint.codes import CODES
from tpulint.finding import Applicability

BEGIN = """
import tensorflow as tf

import tpulint.runtime as tpu


def values():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
"""
PROGRAMS = {
    "TPU203": """
        return [TRIPLED.numpy()]

TRIPLED = tpu.outside_compilation(lambda v: v * 3.0, tf.constant([1.0, 2.0]))
""",
    "TPU206": """
        def computation(x):
            y = x * 3.0
            z = tpu.outside_compilation(lambda v: v * v, y)
            return tf.compat.v1.gradients(z, [x])

        return session.run(tpu.rewrite(computation, [tf.constant([1.0, 2.0])]))
""",
    "TPU405": """
        def computation(x):
            return x + 1.0

        return session.run(tpu.rewrite(computation, [tf.constant(1.0)], name="step"))
""",
    "TPU605": """
        rows = tf.compat.v1.data.make_one_shot_iterator(input_fn({"batch_size": 4})).get_next()
        return [session.run(rows) for _ in range(6)]


def input_fn(params):
    rows = tf.data.Dataset.range(10).repeat().map(lambda row: row * 2)
    return rows.batch(params["batch_size"])


def train(model_fn, config):
    estimator = tf.compat.v1.estimator.tpu.TPUEstimator(
        model_fn, config=config, use_tpu=True, train_batch_size=8
    )
    estimator.train(input_fn, max_steps=100)
""",
    # Without a TPU, as the program decides, it runs before the fix, too.
    "TPU715": """
        return session.run([step(tf.constant(2.0))])


def strategy_of(name):
    if name is None:
        return tf.distribute.get_strategy()
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(name)
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


strategy = strategy_of(None)
step = tf.function(lambda x: strategy.run(lambda y: y * 3.0, args=(x,)))
""",
    "TPU409": """
        def computation(x):
            return tf.reduce_sum(x)

        inputs = [[tf.constant([1.0, 2.0])], [tf.constant([3.0, 4.0])]]
        spec = tpu.PaddingSpec.POWER_OF_TWO
        return session.run(tpu.replicate(computation, inputs=inputs, padding_spec=spec))
""",
}
SAFE = {code for code, row in CODES.items() if Applicability.SAFE in row.fixes}
# Comments, and names: what a release lacks cannot be run before the fix.
NOT_RUN = {"TPU002", "TPU801", "TPU802"}


def test_each_safe_fix_is_tried() -> None:
    assert set(PROGRAMS) == SAFE - NOT_RUN


@pytest.mark.parametrize("code", PROGRAMS)
def test_the_values_are_the_same(code: str, tmp_path: Path) -> None:
    text = BEGIN.lstrip("\n") + PROGRAMS[code].lstrip("\n")
    done = fixed(program(text), tmp_path, [code])
    (data,) = done.files.values()
    assert data.decode() != text
    for before, after in zip(run(text), run(data.decode()), strict=True):
        np.testing.assert_array_equal(before, after)


def run(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), names)
    return names["values"]()
