"""Generated programs in which replicas meet: their values are NumPy's, or they are reported.

Most are run without TensorFlow, which takes milliseconds: only what proves a divergence is tested.
"""

from __future__ import annotations

import gc
import os
import random
from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest

from tests.runtime.oracle.meeting_programs import (
    Diverged,
    Program,
    choices_of,
    expected,
    many_replicas,
    meeting_program,
    small_program,
)
from tests.runtime.oracle.meeting_runs import MODES, cheaply, difference
from tests.runtime.oracle.meeting_schedules import reported
from tpulint.runtime.mark.scratch_graph import ScratchGraph

FUZZ = int(os.environ.get("TPULINT_FUZZ_PROGRAMS", "0"))
PROGRAMS = FUZZ or 300
VALUED = range(FUZZ) if FUZZ else range(50, 100)
"""Those of which the values are looked at; one of these has many replicas."""
SCHEDULED = range(10)
TOGETHER = 25
"""The programs that one test runs."""


def valued_program(seed: int) -> Program:
    """Return the program of that number, whose values are looked at: most are small."""
    if seed % 100 == 75:
        return many_replicas(seed)
    return meeting_program(seed) if seed % 50 == 0 else small_program(seed)


def diverges(program: Program, choices: object) -> bool:
    slots = np.zeros((program.slots, program.replicas, program.replicas))
    try:
        expected(program, slots, choices)
    except Diverged:
        return True
    return False


@pytest.mark.parametrize("chunk", SCHEDULED)
def test_killed_found_by_reading_only_divergence_is_reported_in_whatever_order(chunk: int) -> None:
    for seed in range(chunk, PROGRAMS, len(SCHEDULED)):
        program, chosen = meeting_program(seed), random.Random(seed)
        for agreed in (True, False):
            choices = choices_of(program, chosen, agreed=agreed)
            findings = reported(program, choices, chosen)
            assert bool(findings) == diverges(program, choices), f"{program}\n{choices}\n{findings}"


def collectives_of(program: Program) -> int:
    """Return how many collectives `program` has at least."""
    return str(program).count("Meet(") + 2 * str(program).count("MeetAtOnce(")


def difference_of(seed: int) -> str | None:
    """Return the difference between NumPy's values of program `seed` and ours, or None."""
    program, chosen = valued_program(seed), random.Random(seed)
    runs = [chosen.random() < 0.5, False] if seed % 10 else [True, False, False, True]
    choices = [choices_of(program, chosen, agreed=agreed) for agreed in runs]
    mode, threads = chosen.choice(MODES), chosen.choice([1, 2, 8])
    with nullcontext() if seed % 40 == 1 else cheaply():
        actual = difference(program, mode, threads, choices)
    return actual and f"seed {seed}: {program}\n{mode}, {threads} threads\n{actual}"


@pytest.mark.parametrize("first", VALUED[::TOGETHER])
def test_killed_found_by_reading_their_values_are_numpys(first: int) -> None:
    for seed in range(first, first + TOGETHER):
        assert difference_of(seed) is None


def scratch_graphs() -> list[ScratchGraph]:
    """Return those that something still holds."""
    gc.collect()
    return [obj for obj in gc.get_objects() if isinstance(obj, ScratchGraph)]


def test_a_program_that_has_run_keeps_no_graph() -> None:
    """A long fuzz ran out of memory: TensorFlow keeps what the gradient of `all_reduce` holds."""
    before = scratch_graphs()  # Other tests may have left some.
    program = small_program(3)
    choices = choices_of(program, random.Random(3), agreed=True)
    with cheaply():
        assert difference(program, "strategy", 1, [choices]) is None
    assert all(any(graph is other for other in before) for graph in scratch_graphs())


def test_the_programs_are_not_all_alike() -> None:
    """Enough of them diverge, and enough have many replicas, and many collectives."""
    counted: Counter[str] = Counter()
    for seed in range(500):
        program, chosen = meeting_program(seed), random.Random(seed)
        counted["many replicas"] += program.replicas >= 8
        counted["a long program"] += collectives_of(program) >= 15
        counted["nested"] += any(str(statement).count("body=") > 2 for statement in program.body)
        counted["diverging"] += diverges(program, choices_of(program, chosen, agreed=False))
    assert all(count >= 50 for count in counted.values()), counted


def test_the_programs_with_values_are_not_all_alike() -> None:
    """Some diverge, some have branches, loops, calls and gradients, and a few many replicas."""
    least = {"AtOnce(": 40, "Loop(": 40, "Either(": 40, "Twice(": 20, "Slope(": 20, "Host(": 20}
    least["diverging"] = 20
    counted: Counter[str] = Counter()
    for seed in range(500):
        program, chosen = valued_program(seed), random.Random(seed)
        counted.update(word for word in least if word in str(program))
        counted["diverging"] += diverges(program, choices_of(program, chosen, agreed=False))
        counted["many replicas"] += program.replicas >= 16
    assert counted["many replicas"] >= 5, counted
    assert all(counted[word] >= count for word, count in least.items()), counted
