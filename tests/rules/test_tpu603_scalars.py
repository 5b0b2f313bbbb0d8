"""Values that are certainly scalars: TPU603 is definite about nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties

MODEL_FN = """
import sys
import tensorflow as tf2
import tensorflow.compat.v1 as tf
import library

flags = tf.flags.FLAGS

def model_fn(features, labels, mode, params):
    step = tf.train.get_or_create_global_step()
    logits = tf.layers.dense(features, 1)
    loss = tf.reduce_mean(logits)
    sent = {}
    record = lambda value: tf.summary.scalar("sent", value[0])
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(record, [sent]))

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=tf.estimator.tpu.RunConfig())
"""
SCALARS = (
    "loss",
    "0 if library.is_first() else loss",
    "tf.reduce_sum(logits, axis=None)",
    "tf.reduce_sum(logits, keepdims=False)",
    "tf.reduce_mean(logits) if len(sys.argv) > 1 else tf.reduce_sum(logits)",
    "tf.nn.l2_loss(logits)",
    "tf.global_norm([logits])",
    "tf.size(logits)",
    "loss + 1.0",
    "loss * tf.reduce_sum(logits)",
    "tf.add(loss, 1.0)",
    "tf.add(x=loss, y=loss, name='sum')",
    "tf.multiply(loss, flags.scale)",
    "tf.multiply(loss, tf.to_float(step))",
    # Missed: arithmetic on flags gave nothing.
    "loss * (flags.images / flags.batch)",
    "tf.cast(step, tf.float32) / (flags.images / flags.batch)",
    "loss / float(2 * flags.steps + 1)",
    "loss * (0.5 * 0.1)",
    "-loss * (flags.scale - 1)",
    "tf.add_n([loss, loss])",
    "tf.sqrt(loss)",
    "tf.train.exponential_decay(0.1, step, 100, 0.9)",
    "tf.cast(step, tf.float32)",
    "tf.cast(step, tf.float32) / 100.0",
    "tf.where(tf.cast(step, tf.float32) < 5.0, 0.1 * tf.cast(step, tf.float32), 0.01)",
    "tf.where(tf.less(step, 5), loss, tf.to_float(step))",
    "tf.losses.log_loss(labels, logits)",
    "tf.losses.mean_squared_error(labels, logits)",
    "tf2.losses.log_loss(labels, logits)",
    "tf.losses.log_loss(labels, logits, reduction=tf.losses.Reduction.MEAN)",
)
OTHERS = (
    "0 if library.is_first() else logits",
    "tf.expand_dims(loss, 0) if loss.shape.ndims == 0 else loss",
    "tf.reshape(loss, [1]) if len(loss.shape) == 0 else loss",
    "logits",
    "features",
    "tf.reduce_sum(logits, 1)",
    "tf.reduce_sum(logits, axis=-1)",
    "tf.reduce_sum(logits, reduction_indices=[1])",
    "tf.reduce_sum(logits, None, True)",
    "tf.reduce_sum(logits, keepdims=True)",
    "tf.reduce_sum(logits, keep_dims=True)",
    "tf.reduce_sum(logits, keepdims=params['keep'])",
    "tf.reduce_sum(logits, **params['options'])",
    "tf.reduce_sum(*params['arguments'])",
    "library.reduce_sum(logits)",
    "library.exponential_decay(0.1, step, 100, logits)",
    "loss + logits",
    "tf.cast(logits, tf.float32)",
    "tf.where(logits > 0.0, loss, 0.0)",
    "tf.where(loss > 0.0)",
    "tf.where(loss > 0.0, logits, logits)",
    "tf.add(loss, logits)",
    "tf.add_n([loss, logits])",
    "tf.add_n([])",
    "tf.multiply(loss, params['scale'])",
    "loss * (params['scale'] / 2)",
    "loss * (flags.images / params['batch'])",
    "logits * (flags.images / flags.batch)",
    "loss * (flags.names + flags.others)",
    "tf.multiply(loss, 'two')",
    "tf.sqrt(logits)",
    "library.size(logits)",
    "features.size(logits)",
    "features.rank(logits)",
    "tf.train.exponential_decay(0.1, logits, 100, 0.9)",
    "tf.train.exponential_decay(0.1)",
    "tf.train.batch([logits], 8)",
    "tf.losses.huber(labels, logits)",
    "tf2.losses.mean_squared_error(labels, logits)",
    "tf.keras.losses.log_loss(labels, logits)",
    "tf.losses.log_loss(labels, logits, reduction=tf.losses.Reduction.NONE)",
    "tf.losses.log_loss(labels, logits, reduction=params['reduction'])",
    "tf.losses.log_loss(labels, logits, reduction=library.WHOLE)",
    "tf.losses.log_loss(labels, logits, reduction=library.reduction())",
    "tf.losses.log_loss(labels, logits, **params['options'])",
    "loss if len(sys.argv) > 1 else logits",
    "tf.sqrt(loss if len(sys.argv) > 1 else logits)",
)


def certainties_of(sent: str, folder: Path) -> list[str]:
    return certainties(MODEL_FN.replace("{}", sent), folder, "TPU603")


@pytest.mark.parametrize("sent", SCALARS)
def test_this_is_a_scalar(sent: str, tmp_path: Path) -> None:
    assert certainties_of(sent, tmp_path) == ["definite"]


@pytest.mark.parametrize("sent", OTHERS)
def test_this_may_not_be_a_scalar(sent: str, tmp_path: Path) -> None:
    assert "definite" not in certainties_of(sent, tmp_path)


OF_MONITORED = """
    monitored = {"loss": loss, "logits": logits}
    names = []
    for name, value in sorted(monitored.items()):
        if value.shape.ndims == 0:
            names.append(name)
            BODY
    sent = [monitored[name] for name in names]
    record = lambda *values: tf.summary.scalar("sent", values[0][0])
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=(record, sent))
"""


@pytest.mark.parametrize(
    ("body", "verdicts"),
    [("monitored[name] = tf.reshape(value, [1])", set()), ("pass", {"possible"})],
)
def test_false_positive_where_the_scalars_of_a_dict_are_reshaped(
    body: str, verdicts: set[str], tmp_path: Path
) -> None:
    """Funnel-Transformer replaces each scalar in the dict that it sends."""
    start, end = MODEL_FN.split("    sent = {}\n")
    text = (
        start + OF_MONITORED.replace("BODY", body) + end.partition("host_call=(record, [sent]))")[2]
    )
    assert set(certainties(text, tmp_path, "TPU603")) == verdicts


def test_false_positive_where_the_dict_has_more_items_than_are_kept_apart(tmp_path: Path) -> None:
    start, end = MODEL_FN.split("    sent = {}\n")
    more = "".join(f", '{name}': tf.reduce_mean(logits)" for name in "abcdefgh")
    body = OF_MONITORED.replace("BODY", "monitored[name] = tf.reshape(value, [1])")
    body = body.replace('"logits": logits}', f'"logits": logits{more}}}')
    text = start + body + end.partition("host_call=(record, [sent]))")[2]
    assert certainties(text, tmp_path, "TPU603") == []
