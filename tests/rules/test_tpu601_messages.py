"""The messages of TPU601 name the culprit, and the range covers it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program, source_of
from tests.rules.openings import STEP_OF_MODEL_FN

# The end of a model_fn, the message, and the source that the finding covers.
CASES = {
    "a captured tensor": (
        "return spec(mode, loss=loss, host_call=(record, [rows]))",
        "`record` uses `rate`, a tensor of the TPU computation, but `host_call` does not pass it to"
        " the host: add it to the tensors of `host_call`",
        "rate",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_message_and_the_range_name_the_culprit(name: str, tmp_path: Path) -> None:
    body, message, culprit = CASES[name]
    text = STEP_OF_MODEL_FN.replace("{body}", body)
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU601"
    ]
    assert (actual.message, source_of(actual)) == (message, culprit)
