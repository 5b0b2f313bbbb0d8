"""The text that the fix of TPU701 writes, and where there is none."""

from __future__ import annotations

from pathlib import Path

from tests.rules.fixing import assert_fixed


def test_the_step_is_compiled(tmp_path: Path) -> None:
    assert_fixed(
        """\


        # One step.
        def step(x):
            return x * 2.0


        strategy.run(step, args=(tf.constant(1.0),))
        """,
        """\


        # One step.
        @tf.function
        def step(x):
            return x * 2.0


        strategy.run(step, args=(tf.constant(1.0),))
        """,
        "TPU701",
        tmp_path,
    )


def test_a_lambda_has_no_decorator(tmp_path: Path) -> None:
    text = "strategy.run(lambda x: x * 2.0, args=(tf.constant(1.0),))\n"
    assert_fixed(text, text, "TPU701", tmp_path)
