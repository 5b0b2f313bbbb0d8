"""Both halves decide alike when host and device touch a variable: in program order, by control
edges, through several clusters.
"""

from __future__ import annotations

import os
import warnings

import pytest

import tpulint.runtime as tpu
from tests.agreement.orders import OrderProgram, order_program
from tests.reading import read_program
from tpulint import rules
from tpulint.finding import Certainty
from tpulint.runtime.errors import DeadlockError, StaleVariableWarning

PROGRAMS = int(os.environ.get("TPULINT_FUZZ_PROGRAMS", "500")) // 20
DIFFERED = (158, 161, 166, 205, 219, 247, 340, 345, 445, 476, 584, 1070)
"""Programs on which a half was wrong once: a false or missed alarm, or an error of the runtime."""
SECONDS = 60.0
FILENAME = "/program/example.py"
DEADLOCK, STALE = "TPU101", "TPU103"


def code_of(program: OrderProgram) -> str | None:
    """Return the worst of what the analyzer is sure of."""
    read = read_program([FILENAME], unsaved={FILENAME: program.source.encode()})
    assert read.program is not None
    assert not read.program.failures
    findings = rules.run(read.program, frozenset([DEADLOCK, STALE]))
    definite = {finding.code for finding in findings if finding.certainty is Certainty.DEFINITE}
    assert definite == {finding.code for finding in findings}, f"it can be known: {program}"
    return min(definite, default=None)


def seen(program: OrderProgram) -> str | None:
    """Return the worst that happens when the program runs."""
    with warnings.catch_warnings(record=True) as caught, tpu.options(deadline=SECONDS):
        warnings.simplefilter("always")
        try:
            exec(compile(program.source, f"order_{program.seed}.py", "exec"), {"__name__": "order"})
        except DeadlockError as error:
            return error.rule
    stale = any(isinstance(warning.message, StaleVariableWarning) for warning in caught)
    return STALE if stale else None


@pytest.mark.parametrize("seed", sorted({*range(PROGRAMS), *DIFFERED}))
def test_the_halves_agree(seed: int) -> None:
    program = order_program(seed)
    assert code_of(program) == seen(program), str(program)
