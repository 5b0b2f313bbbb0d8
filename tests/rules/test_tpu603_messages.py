"""The messages of TPU603 name the culprit, and the range covers it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program, source_of
from tests.rules.openings import STEP_OF_MODEL_FN

# The end of a model_fn, the message, and the source that the finding covers.
CASES = {
    "a scalar in a list": (
        "return spec(mode, loss=loss, eval_metrics=(lambda a, b: {}, [rows, loss]))",
        "`loss` is a scalar, but tensors of `eval_metrics` are concatenated over the replicas"
        " along their first dimension: pass `tf.reshape(loss, [1])`",
        "loss",
    ),
    "a scalar": (
        "return spec(mode, loss=loss, host_call=(lambda a: tf.no_op(), [loss]))",
        "`loss` is a scalar, but tensors of `host_call` are"
        " concatenated over the replicas along their first dimension: pass `tf.reshape(loss, [1])`",
        "loss",
    ),
    "a scalar in a dict": (
        'return spec(mode, loss=loss, host_call=(lambda a: tf.no_op(), {"a": loss * 2.0}))',
        "`a` is a scalar, but tensors of `host_call` are"
        " concatenated over the replicas along their first dimension: pass `tf.reshape(a, [1])`",
        '{"a": loss * 2.0}',
    ),
    "what may be a scalar": (
        "record = lambda a: tf.no_op(); "
        'return spec(mode, loss=loss, host_call=(record, [rows if params["rows"] else loss]))',
        "this value may be a scalar, but tensors of"
        " `host_call` are concatenated over the replicas along their first dimension: pass"
        " `tf.reshape(x, [1])`",
        'rows if params["rows"] else loss',
    ),
    "one of two scalars": (
        "record = lambda a: tf.no_op(); "
        'return spec(mode, loss=loss, host_call=(record, [loss * 2.0 if params["a"] else loss]))',
        "this value is a scalar, but tensors of"
        " `host_call` are concatenated over the replicas along their first dimension: pass"
        " `tf.reshape(x, [1])`",
        'loss * 2.0 if params["a"] else loss',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_message_and_the_range_name_the_culprit(name: str, tmp_path: Path) -> None:
    body, message, culprit = CASES[name]
    text = STEP_OF_MODEL_FN.replace("{body}", body)
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU603"
    ]
    assert (actual.message, source_of(actual)) == (message, culprit)
