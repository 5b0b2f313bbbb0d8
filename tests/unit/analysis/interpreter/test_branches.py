"""The values of names after branches: where they meet, they are joined."""

from __future__ import annotations

import pytest

from tests.unit.analysis.reading import names
from tpulint.analysis.domain.values import Choice, Const, Value

ONE, TWO, THREE = Const(1), Const(2), Const(3)

PROGRAMS: dict[str, Value] = {
    "x = 1": ONE,
    "x = 1 if unseen() else 2": Choice((ONE, TWO)),
    "if unseen():\n    x = 1\nelse:\n    x = 2": Choice((ONE, TWO)),
    "x = 1\nif unseen():\n    x = 1": ONE,
    "x = 1\nif unseen():\n    x = 2": Choice((TWO, ONE)),
    "if unseen():\n    x = 1\nelif unseen():\n    x = 2\nelse:\n    x = 3": Choice(
        (ONE, TWO, THREE)
    ),
    "if True:\n    x = 1\nelse:\n    x = 2": ONE,
    "if False:\n    x = 1\nelse:\n    x = 2": TWO,
    "x = 1\ntry:\n    unseen()\nexcept ValueError:\n    x = 2": Choice((ONE, TWO)),
    "x = 1\nwhile unseen():\n    x = 2": Choice((TWO, ONE)),
    "x = 1\nfor _ in unseen():\n    x = 2": Choice((TWO, ONE)),
}


def choices(value: Value) -> set[str]:
    return {repr(each) for each in (value.options if isinstance(value, Choice) else (value,))}


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_name_has_the_values_of_all_ways_that_meet(text: str) -> None:
    found = names(f"from elsewhere import unseen\n{text}\n")["x"]
    assert choices(found) == choices(PROGRAMS[text])


def test_a_way_that_ends_does_not_meet_the_others() -> None:
    text = "def f():\n    if unseen():\n        return 1\n    return 2\nx = f()\n"
    assert choices(names(f"from elsewhere import unseen\n{text}")["x"]) == {"1", "2"}
    text = "x = 1\nif unseen():\n    x = 2\n    raise ValueError\n"
    assert choices(names(f"from elsewhere import unseen\n{text}")["x"]) == {"1"}
