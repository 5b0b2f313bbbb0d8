"""Entry points of a program: modules, and functions that nothing read calls."""

from __future__ import annotations

import pytest

from tests.unit.analysis.reading import program
from tpulint.analysis.domain.context import UNSEEN_CALLER
from tpulint.analysis.domain.program import Program

TPU = "import tensorflow as tf\ntpu = tf.compat.v1.tpu\n"


def unseen(found: Program) -> list[bool]:
    """Return for each computation if a caller that is not seen is around it."""
    return [
        any(scope.kind == UNSEEN_CALLER for scope in each.context.scopes)
        for each in found.computations
    ]


def test_what_a_module_runs_is_an_entry_point() -> None:
    assert unseen(program(TPU + "tpu.rewrite(tf.abs, [[1.0]])\n")) == [False]


def test_a_function_that_nothing_calls_is_read_with_a_caller_that_is_not_seen() -> None:
    found = program(TPU + "def train(x):\n    tpu.rewrite(tf.abs, [x])\n")
    assert unseen(found) == [True]


def test_a_method_that_nothing_calls_is_read_too() -> None:
    text = "class Trainer:\n    def train(self, x):\n        tpu.rewrite(tf.abs, [x])\n"
    assert unseen(program(TPU + text)) == [True]


def test_main_is_run_as_a_script() -> None:
    assert unseen(program(TPU + "def main(_):\n    tpu.rewrite(tf.abs, [[1.0]])\n")) == [False]


def test_a_function_that_somebody_calls_is_read_from_there_only() -> None:
    text = "def train(x):\n    tpu.rewrite(tf.abs, [x])\ntrain(1.0)\n"
    assert unseen(program(TPU + text)) == [False]


def test_a_function_that_names_no_entry_point_is_not_read() -> None:
    found = program(TPU + "def score(x):\n    return tf.abs(x)\ntpu.rewrite(tf.exp, [[1.0]])\n")
    assert not any(call.last == "abs" for call in found.all_calls())


@pytest.mark.parametrize("called", ["", "train(4)"])
def test_a_module_that_is_imported_is_read_where_its_code_is_called(called: str) -> None:
    found = program(
        TPU + f"from steps import train\n{called}\n",
        steps=TPU + "def train(x):\n    tpu.rewrite(tf.abs, [x])\n",
    )
    assert len(found.computations) == bool(called)


def test_a_test_that_expects_a_failure_is_no_entry_point() -> None:
    marked = "import pytest\n@pytest.mark.xfail\ndef test_it(x):\n    tpu.rewrite(tf.abs, [x])\n"
    assert program(TPU + marked).computations == []
