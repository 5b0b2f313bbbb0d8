"""The messages of TPU602 name the culprit, and the range covers it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program, source_of
from tests.rules.openings import STEP_OF_MODEL_FN

# The end of a model_fn, the message, and the source that the finding covers.
CASES = {
    "no parameter for a tensor": (
        "return spec(mode, loss=loss, host_call=(lambda: tf.no_op(), [rows]))",
        "the lambda does not accept the tensors of `host_call`: it has 0 parameters for 1 tensor;"
        " pass the tensors that it takes",
        "(lambda: tf.no_op(), [rows])",
    ),
    "one parameter for two tensors": (
        "return spec(mode, loss=loss, host_call=(lambda a: tf.no_op(), [rows, rows]))",
        "the lambda does not accept the tensors of `host_call`: it has 1 parameter for 2 tensors;"
        " pass the tensors that it takes",
        "(lambda a: tf.no_op(), [rows, rows])",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_message_and_the_range_name_the_culprit(name: str, tmp_path: Path) -> None:
    body, message, culprit = CASES[name]
    text = STEP_OF_MODEL_FN.replace("{body}", body)
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU602"
    ]
    assert (actual.message, source_of(actual)) == (message, culprit)
