"""Both halves of tpulint, from one contract: what the analyzer is sure of, the runtime shows."""

from __future__ import annotations

import pytest

from tests.agreement.halves import findings_of, seen
from tests.runtime.oracle.programs import program

PROGRAMS = 60
FIRST = 5000
# Rules without a meaning at run time, and those that only a topology would show.
UNSEEN = frozenset(["TPU405", "TPU408", "TPU505"])
# Rules that the runtime finds by facts that the analyzer has too: possible, but not silent.
KNOWN = frozenset(["TPU101", "TPU105", "TPU201", "TPU202", "TPU302"])


def seeds() -> list[int]:
    """Programs that end by themselves: nothing is enqueued for those that dequeue."""
    actual: list[int] = []
    seed = FIRST
    while len(actual) < PROGRAMS:
        if "queue(" not in program(seed).source:
            actual.append(seed)
        seed += 1
    return actual


@pytest.mark.parametrize("seed", seeds())
def test_the_halves_agree(seed: int) -> None:
    """Nothing sure is unseen where the program ran to its end; no known fault is unsaid."""
    text = program(seed)
    judged, done = findings_of(text), seen(text)
    assert (done.error, done.rules) != ("DeadlockError", frozenset()), f"a hang: {text}"
    if not done.error:
        assert judged.definite - UNSEEN <= done.rules, str(text)
    assert done.rules & KNOWN <= judged.any, str(text)
