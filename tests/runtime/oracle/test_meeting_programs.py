"""Generated programs in which replicas meet: their values are NumPy's, or they are reported.

Most are run without TensorFlow, which takes milliseconds: only what proves a divergence is tested.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import numpy as np
import pytest

from tests.runtime.oracle.meeting_programs import (
    Diverged,
    Program,
    choices_of,
    expected,
    meeting_program,
)
from tests.runtime.oracle.meeting_runs import MODES, difference, not_compiled
from tests.runtime.oracle.meeting_schedules import reported

PROGRAMS = int(os.environ.get("TPULINT_FUZZ_PROGRAMS", "1000"))
SCHEDULED = range(10)
RUN = range(PROGRAMS // 50)


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
            found = reported(program, choices, chosen)
            assert bool(found) == diverges(program, choices), f"{program}\n{choices}\n{found}"


@pytest.mark.parametrize("seed", RUN)
def test_killed_found_by_reading_their_values_are_numpys(seed: int) -> None:
    program, chosen = meeting_program(seed), random.Random(seed)
    choices = [choices_of(program, chosen, agreed=agreed) for agreed in (True, False, False, True)]
    mode, threads = MODES[seed % len(MODES)], chosen.choice([1, 2, 8])
    if seed % 5 == 0:
        found = difference(program, mode, threads, choices)
    else:
        with not_compiled():
            found = difference(program, mode, threads, choices)
    assert found is None, f"{program}\n{mode}, {threads} threads\n{found}"


def test_the_programs_are_not_all_alike() -> None:
    """Enough of them diverge, and enough have many replicas, and many collectives."""
    counted: Counter[str] = Counter()
    for seed in range(500):
        program, chosen = meeting_program(seed), random.Random(seed)
        counted["many replicas"] += program.replicas >= 8
        counted["a long program"] += str(program).count("Meet(") >= 15
        counted["nested"] += any(str(one).count("body=") > 2 for one in program.body)
        counted["diverging"] += diverges(program, choices_of(program, chosen, agreed=False))
    assert all(count >= 50 for count in counted.values()), counted
