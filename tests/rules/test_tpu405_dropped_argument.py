"""TPU405's fix takes the argument and its comma, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program
from tpulint.diagnostics.fix import edited_text
from tpulint.finding import Applicability

HEAD = "import tensorflow.compat.v1 as tf\n\n\ndef build(f, x, make):\n    return tf.tpu."

CALLS = {
    "the last of one line": ('rewrite(f, [x], name="a")', "rewrite(f, [x])"),
    "the first": ('rewrite(name="a", computation=f)', "rewrite(computation=f)"),
    "the only one": ('rewrite(name="a")', "rewrite()"),
    "in the middle": ('rewrite(f, name="a", inputs=[x])', "rewrite(f, inputs=[x])"),
    "before a trailing comma": ('rewrite(f, [x], name="a",)', "rewrite(f, [x],)"),
    "on rows of its own": (
        'rewrite(\n        f,\n        name=(\n            "a"\n        ),\n        x=[x]\n    )',
        "rewrite(\n        f,\n        x=[x]\n    )",
    ),
    "last, on a row of its own": (
        'rewrite(\n        f,\n        inputs=[x],\n        name="a"\n    )',
        "rewrite(\n        f,\n        inputs=[x]\n    )",
    ),
    "at the end of a row that others share": (
        'rewrite(f, name="a",\n                   inputs=[x])',
        "rewrite(f,\n                   inputs=[x])",
    ),
    "after a comment, which stays": (
        'rewrite(\n        f,\n        inputs=[x],  # the input\n        name="a"\n    )',
        "rewrite(\n        f,\n        inputs=[x]  # the input\n    )",
    ),
    "before a comment, which stays": (
        'rewrite(\n        f,\n        name="a",  # a name\n        inputs=[x],\n    )',
        "rewrite(\n        f,\n        # a name\n        inputs=[x],\n    )",
    ),
    "after letters of more than one byte": (
        'rewrite(f, ["ä" + x], name="ö")',
        'rewrite(f, ["ä" + x])',
    ),
    "after blanks, before a comment, which stays": (
        'rewrite(\n        f,\n        inputs=[x] ,\n\n        name="a"  # a name\n    )',
        "rewrite(\n        f,\n        inputs=[x] \n\n        # a name\n    )",
    ),
    "beside a string with a comma": (
        'rewrite(f, ["a, b" + x], name="c, d")',
        'rewrite(f, ["a, b" + x])',
    ),
}


@pytest.mark.parametrize(("before", "after"), CALLS.values(), ids=CALLS)
def test_only_the_argument_and_its_comma_go(before: str, after: str, tmp_path: Path) -> None:
    text = HEAD + before + "\n"
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU405"
    ]
    assert actual.fix is not None
    assert actual.fix.applicability is Applicability.SAFE
    assert edited_text(text, actual.fix.edits) == HEAD + after + "\n"


def test_a_call_that_would_be_lost_makes_the_fix_unsafe(tmp_path: Path) -> None:
    text = HEAD + "rewrite(f, [x], name=make())\n"
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU405"
    ]
    assert actual.fix is not None
    assert actual.fix.applicability is Applicability.UNSAFE


def test_options_that_hold_the_name_are_left_alone(tmp_path: Path) -> None:
    text = HEAD + 'rewrite(f, [x], **{"name": "a", "xla_options": None})\n'
    (actual,) = [
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU405"
    ]
    assert actual.fix is None


def test_rows_that_only_brackets_hold_together_are_fixed(tmp_path: Path) -> None:
    rows = "    return (tf\n            .compat.v1\n        .tpu.rewrite(f, [x]{}))\n"
    text = "import tensorflow as tf\n\n\ndef build(f, x):\n"
    (actual,) = [
        finding
        for finding in findings(program(text + rows.format(", name='a'")), tmp_path)
        if finding.code == "TPU405"
    ]
    assert actual.fix is not None
    assert edited_text(text + rows.format(", name='a'"), actual.fix.edits) == text + rows.format("")
