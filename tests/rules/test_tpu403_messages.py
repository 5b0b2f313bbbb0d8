"""The messages of TPU403, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program
from tests.rules.openings import CALLABLES

KEYWORD_ONLY = (
    "`named` has a keyword-only argument, but TensorFlow passes none by keyword: give it a default"
)
METHOD = (
    "`step` is a bound method, which TensorFlow refuses because it counts `self`: wrap it in a"
    " lambda"
)
PASS = "pass as many in each list of `inputs`"
CALLS = {
    "tf.tpu.rewrite(two, [x])": "`two` is given 1 input but takes 2: " + PASS,
    "tf.tpu.rewrite(many, [x])": "`many` is given 1 input but takes at least 2: " + PASS,
    "tf.tpu.rewrite(some, [x] * 4)": "`some` is given 4 inputs but takes 1 to 3: " + PASS,
    "tf.tpu.rewrite(named, [x])": KEYWORD_ONLY,
    "tf.tpu.rewrite(functools.partial(named, x), [])": KEYWORD_ONLY,
    "tf.tpu.rewrite(Model().step, [x])": METHOD,
    "tf.tpu.rewrite(functools.partial(Model().step), [x])": METHOD,
    "tf.tpu.rewrite(Model().steps, [])": "`steps` is given 0 inputs but takes at least 1: " + PASS,
    "tf.tpu.rewrite(functools.partial(two, 1, 2, 3), [])": "`two` is given 0 inputs but takes"
    " another number: " + PASS,
    "tf.tpu.rewrite(two if more else many, [x])": "the computation is given 1 input but takes"
    " another number: " + PASS,
}


@pytest.mark.parametrize("call", CALLS)
def test_the_message_of_the_call(call: str, tmp_path: Path) -> None:
    (finding,) = findings(program(CALLABLES + call), tmp_path)
    assert (finding.code, finding.message) == ("TPU403", CALLS[call])
