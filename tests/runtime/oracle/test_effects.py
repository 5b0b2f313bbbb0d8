"""The side effects of a computation are those of TensorFlow: none is lost, none is added."""

from __future__ import annotations

import os

import pytest

from tests.runtime.oracle.building import control_flow
from tests.runtime.oracle.effects import computation, effects_and_value
from tests.runtime.oracle.programs import MODES

PROGRAMS = int(os.environ.get("TPULINT_FUZZ_PROGRAMS", "500")) // 100


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_what_tensorflow_runs_runs_and_nothing_else(seed: int, mode: str) -> None:
    with control_flow(mode):
        theirs = effects_and_value(computation(seed), mode, "tensorflow")
        for side in ("device", "host"):
            assert effects_and_value(computation(seed), mode, side) == theirs, side


def test_the_programs_leave_effects_out() -> None:
    """In loops and branches of TensorFlow 1 some effects are pruned that others run."""
    happened = {}
    for mode in MODES:
        with control_flow(mode):
            happened[mode] = [
                sum(effects_and_value(computation(seed), mode, "tensorflow")[0])
                for seed in range(5)
            ]
    old = happened.pop("graph, V1 control flow")
    assert all(sum(old) < sum(numbers) for numbers in happened.values()), (old, happened)
