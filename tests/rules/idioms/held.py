"""A program that calls a function out of something, and the certainty of which function it is."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import certainties
from tests.rules.openings import V1

FUNCTIONS = """
import sys

def sound(x):
    return x

def faulty(x):
    return tf.tpu.rewrite(tf.sin, [x])

"""
CALL = """
def computation(x):
    return {called}(x)

tf.tpu.rewrite(computation, [tf.zeros([8, 4])])
"""


def certainty_of(change: str, called: str, folder: Path) -> list[str]:
    """Return the certainty of TPU202 that `called` is `faulty` after `change`, or nothing."""
    text = V1 + FUNCTIONS + change + "\n" + CALL.replace("{called}", called)
    return certainties(text, folder, "TPU202")
