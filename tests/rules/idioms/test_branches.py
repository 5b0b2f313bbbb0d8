"""Code that no TPU runs: the branch of another machine, of another mode, of another dtype."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import reported

EVALUATED_ON_THE_HOST = """
import tensorflow.compat.v1 as tf

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if mode == tf.estimator.ModeKeys.EVAL:
        words = tf.py_func(str, [loss], tf.string)
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(len, [words]))
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)

def build(config):
    return tf.estimator.tpu.TPUEstimator(
        model_fn, config=config, use_tpu=True, eval_on_tpu={on_tpu}, train_batch_size=64
    )
"""
POLICIES = {
    "where no TPU was found": """
        import tensorflow as tf
        try:
            resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
            strategy = tf.distribute.TPUStrategy(resolver)
        except ValueError:
            strategy = tf.distribute.MirroredStrategy()
            tf.keras.mixed_precision.set_global_policy("mixed_float16")
        @tf.function
        def train(x):
            strategy.run(tf.abs, args=(x,))
    """,
    "where a policy asks for it": """
        import tensorflow as tf
        def main(flags):
            if flags.mixed_precision:
                tf.keras.mixed_precision.set_global_policy("mixed_float16")
        strategy = tf.distribute.TPUStrategy()
        @tf.function
        def train(x):
            strategy.run(tf.abs, args=(x,))
    """,
}
OPERATIONS = {
    "a test whether XLA compiles": """
        import tensorflow as tf
        import library
        strategy = tf.distribute.TPUStrategy()
        def step(x):
            if not library.is_xla_compiled():
                tf.py_function(print, [x], [])
            return x
        @tf.function
        def train(x):
            strategy.run(step, args=(x,))
    """,
    "a policy's name": """
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy()
        def build(policy):
            def step(x):
                if policy == "mixed_float16":
                    return tf.cast(x, tf.float16)
                return x
            @tf.function
            def train(x):
                strategy.run(step, args=(x,))
            return train
    """,
    "an optimizer that scales the loss": """
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy()
        def build(optimizer):
            def step(x):
                if isinstance(optimizer, tf.keras.mixed_precision.LossScaleOptimizer):
                    x = tf.cast(x, tf.float16)
                return x
            @tf.function
            def train(x):
                strategy.run(step, args=(x,))
            return train
    """,
    "a flag for GPUs": """
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy()
        def build(flags):
            def step(x):
                if flags.num_gpus > 0:
                    x = tf.numpy_function(abs, [x], tf.float32)
                return x
            @tf.function
            def train(x):
                strategy.run(step, args=(x,))
            return train
    """,
}
OPERATIONS["a test in two rows"] = OPERATIONS["an optimizer that scales the loss"].replace(
    "optimizer, tf.keras", "optimizer,\n tf.keras"
)
SIZES = """
import tensorflow.compat.v1 as tf

from network import model_fn

def main(train, test):
    settings = tf.estimator.tpu.TPUConfig(num_shards=8)
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn,
        config=tf.estimator.tpu.RunConfig(tpu_config=settings),
        use_tpu=True,
        train_batch_size=64,
        eval_batch_size=3,
        predict_batch_size=1,
    )
    estimator.train(train)
    {more}
"""


@pytest.mark.parametrize("on_tpu", [True, False])
def test_an_evaluation_on_the_host(on_tpu: bool, tmp_path: Path) -> None:
    text = EVALUATED_ON_THE_HOST.replace("{on_tpu}", str(on_tpu))
    assert bool(reported(text, tmp_path, ["TPU501"])) == on_tpu


PREDICTED_PERHAPS = """
import tensorflow.compat.v1 as tf

def model_fn(features, labels, mode, params):
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    if not is_training:
        loss = tf.py_func(abs, [loss], tf.float32)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)

def build(config):
    return tf.estimator.tpu.TPUEstimator(
        model_fn, config=config, use_tpu=True, train_batch_size=64, {arguments}
    )
"""


@pytest.mark.parametrize(
    ("arguments", "certainty"),
    [
        ("eval_on_tpu=False", "possible"),
        ("eval_on_tpu=True", "definite"),
        ("eval_on_tpu=False, predict_batch_size=None", "possible"),
        ("eval_on_tpu=False, predict_batch_size=8", "definite"),
    ],
)
def test_false_alarm_definite_where_only_an_export_runs(
    arguments: str, certainty: str, tmp_path: Path
) -> None:
    """TensorFlow refuses predictions without a batch size; what it exports may be the CPU's."""
    text = PREDICTED_PERHAPS.replace("{arguments}", arguments)
    for variant in (
        text,
        text.replace("if not is_training", "if mode != tf.estimator.ModeKeys.TRAIN"),
    ):
        assert [finding.certainty for finding in reported(variant, tmp_path, ["TPU501"])] == [
            certainty
        ]


@pytest.mark.parametrize("name", [*POLICIES, *OPERATIONS])
def test_a_branch_of_another_machine_or_dtype(name: str, tmp_path: Path) -> None:
    assert reported({**POLICIES, **OPERATIONS}[name], tmp_path, ["TPU5"]) == []


@pytest.mark.parametrize(("more", "count"), [("", 0), ("estimator.evaluate(test)", 1)])
def test_the_batch_of_a_mode_that_is_run(more: str, count: int, tmp_path: Path) -> None:
    assert len(reported(SIZES.replace("{more}", more), tmp_path, ["TPU606"])) == count


LOOPS = """
import tensorflow.compat.v1 as tf

def map_over(fn, elements):
    if elements.shape.as_list()[0] is not None:
        return tf.stack([fn(each) for each in tf.unstack(elements)])
    return tf.map_fn(fn, elements)

def computation(x):
    return map_over(lambda each: tf.tpu.outside_compilation(tf.math.lgamma, each), x)

def build(x):
    return tf.tpu.rewrite(computation, [x])
"""


def test_a_loop_that_is_unrolled_where_the_shape_is_static(tmp_path: Path) -> None:
    assert reported(LOOPS, tmp_path, ["TPU505"]) == []
    loop = LOOPS.replace("elements.shape.as_list()[0] is not None", "elements is None")
    assert len(reported(loop, tmp_path, ["TPU505"])) == 1


DEPENDENCIES = """
import tensorflow.compat.v1 as tf

def computation(x):
    first, second = tf.assert_positive(x), tf.assert_less(x, 9.0)
    with tf.control_dependencies([first, second]):
        return {returned}

def build(x):
    return tf.tpu.rewrite(computation, [x])
"""


@pytest.mark.parametrize(
    ("returned", "lost"), [("[first, second]", False), ("first", True), ("x", True)]
)
def test_dependencies_that_are_returned_themselves(
    returned: str, lost: bool, tmp_path: Path
) -> None:
    text = DEPENDENCIES.replace("{returned}", returned)
    assert bool(reported(text, tmp_path, ["TPU304"])) == lost
