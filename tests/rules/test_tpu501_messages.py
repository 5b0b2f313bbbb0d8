"""The messages of TPU501 name the culprit, and the range covers it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program, source_of
from tests.rules.openings import STEP_OF_MODEL_FN

# The end of a model_fn, the message, and the source that the finding covers.
CASES = {
    "Python": (
        "loss += tf.py_func(abs, [loss], tf.float32); return spec(mode, loss=loss)",
        "`py_func` builds `EagerPyFunc` or `PyFunc` or `PyFuncStateless`, which has no TPU kernel:"
        " send it to the host with `outside_compilation`",
        "tf.py_func(abs, [loss], tf.float32)",
    ),
    "a summary": (
        'tf.summary.scalar("loss", loss); return spec(mode, loss=loss)',
        "`scalar` builds `ScalarSummary`, which has no TPU kernel: write it in `host_call`",
        'tf.summary.scalar("loss", loss)',
    ),
    "a string": (
        "loss += tf.strings.length(features); return spec(mode, loss=loss)",
        "`length` builds `StringLength`, which has no TPU kernel: do it in the input pipeline",
        "tf.strings.length(features)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_message_and_the_range_name_the_culprit(name: str, tmp_path: Path) -> None:
    body, message, culprit = CASES[name]
    text = STEP_OF_MODEL_FN.replace("{body}", body)
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU501"
    ]
    assert (actual.message, source_of(actual)) == (message, culprit)
