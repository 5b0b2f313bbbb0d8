"""TPU610 and other rules on programs in which something says whether a TPU is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

MODEL_AND_INPUT = (
    V1
    + """
import library
import sys

FLAGS = tf.app.flags.FLAGS

def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))

def input_fn(params):
    return tf.data.Dataset.range(1000).batch(params["batch_size"], drop_remainder=True)

def made(use_tpu):
    config = tf.estimator.tpu.RunConfig()
    return tf.estimator.tpu.TPUEstimator(
        model_fn, use_tpu=use_tpu, train_batch_size=8, config=config
    )
"""
)
PROGRAMS = {
    "use_tpu is not seen": MODEL_AND_INPUT
    + """
made(library.accelerated()).evaluate(input_fn, steps=1)  # error: TPU610
""",
    "use_tpu is a parameter that nothing gives": MODEL_AND_INPUT
    + """
def evaluate(use_tpu, name):
    estimator = made(use_tpu)
    if name == "evaluation":
        estimator.evaluate(input_fn, steps=1)  # error: TPU610
""",
    "a setting decides which estimator is made": MODEL_AND_INPUT
    + """
def run(use_tpu, evaluates_first):
    if not use_tpu:
        estimator = tf.estimator.Estimator(model_fn)
    else:
        estimator = made(True)
    if FLAGS.evaluates:
        estimator.evaluate(input_fn, steps=1)  # error: TPU610
    for _ in range(10):
        estimator.train(input_fn, steps=1)
        estimator.evaluate(input_fn, steps=1)  # error: TPU610
    if evaluates_first:
        estimator.evaluate(input_fn, steps=1)  # possible: TPU610
""",
    "an estimator that takes the place of another one": MODEL_AND_INPUT
    + """
settings = library.settings()
estimator = tf.estimator.Estimator(model_fn)
if settings.tpu_name:
    estimator = made(True)
estimator.evaluate(input_fn, steps=1)  # possible: TPU610
""",
    "use_tpu is None": MODEL_AND_INPUT
    + """
made(None).evaluate(input_fn, steps=1)
""",
    "one of several calls has use_tpu=False": MODEL_AND_INPUT
    + """
made(len(sys.argv) > 1 and library.accelerated()).evaluate(input_fn, steps=1)  # error: TPU610
estimator = made(FLAGS.use_tpu) if len(sys.argv) > 1 else made(False)
estimator.evaluate(input_fn, steps=1)  # error: TPU610
made(FLAGS.use_tpu if len(sys.argv) > 1 else False).evaluate(input_fn, steps=1)  # possible: TPU610
""",
    "a test asks for no TPU": MODEL_AND_INPUT
    + """
def run(flag, params):
    estimator = made(FLAGS.use_tpu)
    estimator.train(input_fn, steps=1)
    if not FLAGS.use_tpu:
        estimator.evaluate(input_fn, steps=1)
    if not params["use_tpu"] and params["evaluates"]:
        estimator.evaluate(input_fn, steps=1)
    by_flag = made(flag)
    if not flag:
        by_flag.evaluate(input_fn, steps=1)
""",
    "a test may ask for no TPU": MODEL_AND_INPUT
    + """
def run():
    estimator = made(FLAGS.accelerated)
    if FLAGS.tpu_name:
        estimator.train(input_fn, steps=1)
    else:
        estimator.evaluate(input_fn, steps=1)  # possible: TPU610
    if FLAGS.device == "gpu":
        estimator.evaluate(input_fn, steps=2)  # possible: TPU610
    if FLAGS.device == "tpu":
        estimator.evaluate(input_fn, steps=3)  # error: TPU610
    if FLAGS.tpu_name:
        estimator.evaluate(input_fn, steps=4)  # error: TPU610
""",
    "what asks for a TPU ends in an error": MODEL_AND_INPUT
    + """
def run():
    estimator = made(FLAGS.use_tpu)
    if FLAGS.interactive:
        if estimator.config.use_tpu:
            raise ValueError("a TPU has its batches")
        estimator.evaluate(input_fn, steps=1)
    else:
        estimator.evaluate(input_fn, steps=1)  # error: TPU610
""",
    "evaluations run where the rest does, or where another flag says": MODEL_AND_INPUT
    + """
def made_for_evaluations(use_tpu, eval_on_tpu):
    return tf.estimator.tpu.TPUEstimator(
        model_fn,
        use_tpu=use_tpu,
        eval_on_tpu=eval_on_tpu,
        train_batch_size=8,
        config=tf.estimator.tpu.RunConfig(),
    )

def run():
    estimator = made_for_evaluations(FLAGS.use_tpu, FLAGS.use_tpu)
    estimator.evaluate(input_fn, steps=1)  # error: TPU610
    estimator = made_for_evaluations(FLAGS.use_tpu, FLAGS.evaluates_there)
    estimator.evaluate(input_fn, steps=1)  # possible: TPU610
""",
    # A false positive in malaya-speech: with a TPU there is no function for evaluations.
    "the estimator and its use are under tests of their own": MODEL_AND_INPUT
    + """
def run(use_tpu, eval_fn):
    if use_tpu:
        estimator = made(use_tpu)
        eval_fn = None
    else:
        estimator = tf.estimator.Estimator(model_fn)
    if eval_fn:
        spec = tf.estimator.EvalSpec(eval_fn, steps=1)
        tf.estimator.train_and_evaluate(  # possible: TPU610
            estimator, tf.estimator.TrainSpec(input_fn, max_steps=2), spec
        )
        estimator.evaluate(eval_fn, steps=1)  # possible: TPU610
""",
    "another Estimator, and other input, where there is no TPU": MODEL_AND_INPUT
    + """
def input_fn_of(settings, uses_rows):
    def input_fn(params):
        if uses_rows:
            rows = tf.data.Dataset.from_generator(range, tf.int64)  # possible: TPU607
        else:
            rows = tf.data.TFRecordDataset("gs://bucket/rows")
        return rows.repeat().batch(params["batch_size"], drop_remainder=True)
    return input_fn

def run(settings):
    records = settings.records
    if settings.tpu.enable:
        records = True
    estimator = tf.estimator.Estimator(model_fn)
    if settings.tpu.enable:
        cluster = tf.distribute.cluster_resolver.TPUClusterResolver(zone="us-central1-b")
        estimator = tf.estimator.tpu.TPUEstimator(
            model_fn, config=tf.estimator.tpu.RunConfig(cluster=cluster), train_batch_size=8
        )
    estimator.train(input_fn_of(settings, not records), steps=1)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
