"""The messages of TPU406 name the culprit, and the range covers it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program, source_of
from tests.rules.openings import STEP_OF_MODEL_FN

# The end of a model_fn, the message, and the source that the finding covers.
CASES = {
    "what a hook fetches": (
        'hook = tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=1); '
        "return spec(mode, loss=loss, training_hooks=[hook])",
        "`loss` is made on the device, where a session hook cannot fetch it:"
        " pass it to `host_call`",
        "loss",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_message_and_the_range_name_the_culprit(name: str, tmp_path: Path) -> None:
    body, message, culprit = CASES[name]
    text = STEP_OF_MODEL_FN.replace("{body}", body)
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU406"
    ]
    assert (actual.message, source_of(actual)) == (message, culprit)


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
    (actual,) = [
        finding for finding in findings(program(FETCHED), tmp_path) if finding.code == "TPU406"
    ]
    assert source_of(actual) == "inner"
    assert actual.message.startswith("`inner` was made inside the computation of `replicate`")
