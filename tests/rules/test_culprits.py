"""Messages name the tensor that is at fault, and the range is that tensor's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program
from tests.rules.openings import ESTIMATOR, V1
from tpulint.finding import Finding

MODEL_FN = (
    V1
    + """
def model_fn(features, labels, mode, params):
    rate = tf.train.cosine_decay(0.1, tf.train.get_global_step(), 100)
    loss, rows = tf.reduce_mean(features), tf.reduce_mean(features, axis=-1)
    def record(step):
        return tf.summary.scalar("rate", rate, step=step)
    spec = tf.estimator.tpu.TPUEstimatorSpec
    {body}
"""
    + ESTIMATOR
)
CASES = {
    "a captured tensor": (
        "TPU601",
        "return spec(mode, loss=loss, host_call=(record, [rows]))",
        "`record` captures `rate`, a tensor of the TPU computation that is not among the tensors of"
        " `host_call`: it does not exist on the host, so pass it with them",
        "rate",
    ),
    "a scalar in a list": (
        "TPU603",
        "return spec(mode, loss=loss, eval_metrics=(lambda a, b: {}, [rows, loss]))",
        "`loss` is a scalar, but what `eval_metrics` receives is concatenated over the replicas"
        " along its first dimension: pass `tf.reshape(loss, [1])`",
        "loss",
    ),
    "what a hook fetches": (
        "TPU406",
        'hook = tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=1); '
        "return spec(mode, loss=loss, training_hooks=[hook])",
        "`loss` is made on the device, where a session hook cannot fetch it:"
        " pass it to `host_call`",
        "loss",
    ),
    "Python": (
        "TPU501",
        "loss += tf.py_func(abs, [loss], tf.float32); return spec(mode, loss=loss)",
        "`py_func` builds `EagerPyFunc` or `PyFunc` or `PyFuncStateless`, which has no TPU kernel:"
        " send it to the host with `outside_compilation`",
        "tf.py_func(abs, [loss], tf.float32)",
    ),
    "a summary": (
        "TPU501",
        'tf.summary.scalar("loss", loss); return spec(mode, loss=loss)',
        "`scalar` builds `ScalarSummary`, which has no TPU kernel: write it in `host_call`",
        'tf.summary.scalar("loss", loss)',
    ),
    "a string": (
        "TPU501",
        "tf.strings.length(features); return spec(mode, loss=loss)",
        "`length` builds `StringLength`, which has no TPU kernel: do it in the input pipeline",
        "tf.strings.length(features)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_culprit_is_named(name: str, tmp_path: Path) -> None:
    code, body, message, culprit = CASES[name]
    text = MODEL_FN.replace("{body}", body)
    (found,) = [each for each in findings(program(text), tmp_path) if each.code == code]
    assert (found.message, stretch(found)) == (message, culprit)


FETCHED = """
import tensorflow.compat.v1 as tf

def build(session, x):
    made = []
    def computation(value):
        total = value * 2.0
        made.append(total)
        return total
    outputs = tf.tpu.replicate(computation, [[x], [x]])
    (inner,) = made
    return session.run([outputs, inner])
"""


def test_the_fetched_tensor_is_named(tmp_path: Path) -> None:
    (found,) = [each for each in findings(program(FETCHED), tmp_path) if each.code == "TPU406"]
    assert stretch(found) == "inner"
    assert found.message.startswith("`inner` was made inside the computation of `replicate`")


def stretch(found: Finding) -> str:
    """The source that the finding covers, in one row."""
    line = (
        Path(found.span.filename).read_text(encoding="utf-8").split("\n")[found.span.start.row - 1]
    )
    return line[found.span.start.column - 1 : found.span.end.column - 1]
