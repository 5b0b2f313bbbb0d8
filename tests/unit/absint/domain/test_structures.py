"""The tensors in structures."""

from __future__ import annotations

import pytest

from tpulint.absint.domain.events import Context, Tensor
from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.structures import MAX_STRUCTURE_DEPTH, all_tensors, tensors
from tpulint.absint.domain.values import UNKNOWN, Choice, Const, Value

ONE, TWO = Tensor(Context(), None), Tensor(Context(), None)


def nested(levels: int) -> Value:
    """A tensor inside so many lists."""
    value: Value = ONE
    for _ in range(levels):
        value = Sequence("list", [value])
    return value


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        ([UNKNOWN, Const(1)], []),
        ([TWO, UNKNOWN, ONE, TWO], [TWO, ONE, TWO]),
        ([Sequence("tuple", [ONE, Mapping({"a": TWO})]), TWO], [ONE, TWO, TWO]),
        ([Choice((ONE, Const(None))), Choice((Const(1), Const(2)))], [ONE]),
        ([nested(MAX_STRUCTURE_DEPTH)], [ONE]),
        ([nested(MAX_STRUCTURE_DEPTH + 1)], []),
    ],
)
def test_the_tensors_of_several_values_are_those_of_each(
    values: list[Value], expected: list[Tensor]
) -> None:
    actual = all_tensors(values)
    assert actual == expected
    assert actual == [tensor for value in values for tensor in tensors(value)]
