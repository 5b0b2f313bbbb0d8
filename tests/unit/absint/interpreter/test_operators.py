"""Arithmetic on whole numbers that the analysis knows."""

from __future__ import annotations

import pytest

from tpulint.absint.domain.values import Const, Number, Value
from tpulint.absint.interpreter.operators import folded


@pytest.mark.parametrize(
    ("base", "exponent", "power"),
    [
        (2, 11, Const(2048)),
        (10, 0, Const(1)),
        (2, -1, Number()),  # a float
        (2, 10_000, Number()),  # it would take time and memory
        (2.0, 3, Number()),
    ],
)
def test_powers_of_small_whole_numbers(base: float, exponent: int, power: Value) -> None:
    assert folded("Power", base, exponent) == power
