"""The edits of the fixes of TPU101 and TPU105, and where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program
from tpulint.diagnostics.fix import edited_text
from tpulint.finding import Applicability

PROGRAM = """
import tensorflow.compat.v1 as tf

scale = tf.get_variable("scale", shape=[], use_resource=True)


def divide(loss, by):
    return {body}


def computation(x):
    loss = tf.reduce_mean(x * 2.0)
    with tf.control_dependencies([x * 1]):
        return scale.assign_add(loss) * tf.tpu.outside_compilation({call})


tf.tpu.rewrite(computation, [tf.zeros([4])])
"""


def mended(text: str, folder: Path) -> str | None:
    (finding,) = findings(program(text), folder)
    assert finding.code == "TPU101"
    if finding.fix is None:
        return None
    assert finding.fix.applicability is Applicability.UNSAFE
    return edited_text(text.strip("\n") + "\n", finding.fix.edits)


@pytest.mark.parametrize(
    ("body", "call", "new_body", "new_call"),
    [
        ("loss / by", "divide, loss, scale", "loss / by", "divide, loss, scale.read_value()"),
        ("loss / by", "divide, loss, by=scale", "loss / by", "divide, loss, by=scale.read_value()"),
        (
            "loss / by.read_value()",
            "divide, loss, scale",
            "loss / by",
            "divide, loss, scale.read_value()",
        ),
    ],
)
def test_the_fix_reads_the_value_on_the_device(
    body: str, call: str, new_body: str, new_call: str, tmp_path: Path
) -> None:
    changed = mended(PROGRAM.format(body=body, call=call), tmp_path)
    assert changed == PROGRAM.format(body=new_body, call=new_call).strip("\n") + "\n"
    assert findings(program(changed), tmp_path) == []


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("loss / scale", "divide, loss, scale"),
        ("by.assign_add(loss) * 1.0", "divide, loss, scale"),
        ("loss / by", "divide, *[loss, scale]"),
        ("(lambda: loss / by)()", "divide, loss, scale"),
    ],
    ids=["closed over", "a write", "unpacked", "in a function within"],
)
def test_a_body_that_is_not_simple_has_no_fix(body: str, call: str, tmp_path: Path) -> None:
    assert mended(PROGRAM.format(body=body, call=call), tmp_path) is None
