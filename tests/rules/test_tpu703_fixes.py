"""The text that the fix of TPU703 writes, and where there is none."""

from __future__ import annotations

from pathlib import Path

from tests.rules.fixing import assert_fixed

SCOPED = """\


def step(x):
{body}


@tf.function
def train(x):
    return strategy.run(step, args=(x,))


train(tf.constant(1.0))
"""


def test_the_scope_is_removed_and_its_block_stays(tmp_path: Path) -> None:
    before = """\
    with strategy.scope():  # TPU
        y = x * 2.0

        # Twice.
        y = y * (
            2.0
        )
    return y"""
    fixed = """\
    # TPU
    y = x * 2.0

    # Twice.
    y = y * (
        2.0
    )
    return y"""
    assert_fixed(SCOPED.format(body=before), SCOPED.format(body=fixed), "TPU703", tmp_path)


def test_a_scope_beside_another_item_is_left_alone(tmp_path: Path) -> None:
    body = '    with strategy.scope(), tf.name_scope("a"):\n        return x * 2.0'
    text = SCOPED.format(body=body)
    assert_fixed(text, text, "TPU703", tmp_path)
