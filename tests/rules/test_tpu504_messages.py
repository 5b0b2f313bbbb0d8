"""The messages of TPU504, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program
from tests.rules.openings import CALLABLES

CALLS = {
    "tf.tpu.rewrite(lambda: tf.zeros([2], tf.string))": "`zeros` makes a string on the device,"
    " which no TPU supports; make numbers of it on the host",
    "tf.tpu.rewrite(lambda: tf.zeros([2], tf.complex128))": "`zeros` makes a complex128 on the"
    " device, which no TPU supports; use complex64",
    "tf.tpu.rewrite(lambda: tf.zeros([2], tf.float16))": "`zeros` makes a float16 on the device:"
    " float16 on a TPU has neither the range nor the hardware units of `bfloat16`; use bfloat16",
}


@pytest.mark.parametrize("call", CALLS)
def test_the_message_of_the_call(call: str, tmp_path: Path) -> None:
    (finding,) = findings(program(CALLABLES + call), tmp_path)
    assert (finding.code, finding.message) == ("TPU504", CALLS[call])
