"""The function that the fix of TPU715 writes, and where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.fixing import assert_fixed

STEP = "lambda x: strategy.run(tf.square, args=(x,))"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"step = tf.function({STEP})  # squares\n",
            """\
            @tf.function
            def step(x):  # squares
                return strategy.run(tf.square, args=(x,))
            """,
        ),
        (
            """\
            class Trainer:
                step = tf.function(
                    lambda self, x, power=tf.square: strategy.run(
                        power, args=(x,)
                    ),
                    autograph=False,
                )
            """,
            """\
            class Trainer:
                @tf.function(autograph=False)
                def step(self, x, power=tf.square):
                    return (strategy.run(
                            power, args=(x,)
                        ))
            """,
        ),
        (
            f"""\
            compiled = tf.function(jit_compile=False)
            step = compiled({STEP})
            step(tf.constant(1.0))
            """,
            """\
            compiled = tf.function(jit_compile=False)
            @compiled
            def step(x):
                return strategy.run(tf.square, args=(x,))
            step(tf.constant(1.0))
            """,
        ),
    ],
)
def test_the_lambda_becomes_a_function(before: str, after: str, tmp_path: Path) -> None:
    assert_fixed(before, after, "TPU715", tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        f"step = other = tf.function({STEP})\n",
        f"tf.function({STEP})(tf.constant(1.0))\n",
        f"step = tf.function(\n    # Squares.\n    {STEP}\n)\n",
        f"step = tf.function({STEP}); step(tf.constant(1.0))\n",
        f"if strategy: step = tf.function({STEP})\n",
        f"schritt_ä = tf.function({STEP})\n",
        f"square = {STEP}\nstep = tf.function(square)\n",
        f"step = tf.function(func={STEP})\n",
    ],
)
def test_other_lambdas_stay(text: str, tmp_path: Path) -> None:
    assert_fixed(text, text, "TPU715", tmp_path)
