"""Tests of what is asked of entry calls and their arguments."""

from __future__ import annotations

import pytest

from tpulint.queries.entry_calls import range_of


@pytest.mark.parametrize(
    ("bounds", "numbers"),
    [((3,), range(3)), ((1, 9), range(1, 9)), ((9, 1, -2), range(9, 1, -2)), ((0,), range(0))],
)
def test_numbers_that_range_takes_give_a_range(bounds: tuple[int, ...], numbers: range) -> None:
    assert range_of(bounds) == numbers


@pytest.mark.parametrize("bounds", [(), (1, 2, 3, 4), (1, 9, 0), (None,), (1, None)])
def test_bounds_that_range_refuses_give_none(bounds: tuple[int | None, ...]) -> None:
    # A function of a project may have the name, and take any number of arguments.
    assert range_of(bounds) is None
