"""The values of names after branches: where they meet, they are joined."""

from __future__ import annotations

import pytest

from tests.unit.reading import names
from tpulint.absint.domain.values import Choice, Const, Value

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
    return {repr(option) for option in (value.options if isinstance(value, Choice) else (value,))}


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_name_has_the_values_of_all_ways_that_meet(text: str) -> None:
    actual = names(f"from elsewhere import unseen\n{text}\n")["x"]
    assert choices(actual) == choices(PROGRAMS[text])


def test_a_way_that_ends_does_not_meet_the_others() -> None:
    text = "def f():\n    if unseen():\n        return 1\n    return 2\nx = f()\n"
    assert choices(names(f"from elsewhere import unseen\n{text}")["x"]) == {"1", "2"}
    text = "x = 1\nif unseen():\n    x = 2\n    raise ValueError\n"
    assert choices(names(f"from elsewhere import unseen\n{text}")["x"]) == {"1"}


MANY = ", ".join(map(str, range(17)))
LOOPS: dict[str, Value] = {
    "for x in (1, 2, 3):\n    pass": THREE,
    "for x in [1]:\n    pass": ONE,
    "x = 0\nfor a in (1, 2):\n    x = x + a": THREE,
    "for a in (1, 2):\n    if a == 1:\n        x = 1": ONE,
    "for a in (1, 2):\n    for x in (a, 3):\n        pass": THREE,
    "for x in (1, 2):\n    if unseen():\n        break": Choice((ONE, TWO)),
    "for a in (1, 2):\n    if unseen():\n        continue\n    x = a": Choice((ONE, TWO)),
    "def f():\n    for a in (1, 2):\n        return a\nx = f()": ONE,
    "def f():\n  for a in (1, 2):\n    if unseen(): return a\n  return 3\nx = f()": Choice(
        (ONE, TWO, THREE)
    ),
}


@pytest.mark.parametrize("text", LOOPS)
def test_a_loop_over_a_literal_is_read_round_by_round(text: str) -> None:
    actual = names(f"from elsewhere import unseen\n{text}\n")["x"]
    assert choices(actual) == choices(LOOPS[text])


def test_a_loop_over_many_items_is_read_once() -> None:
    assert names(f"x = 0\nfor a in ({MANY}):\n    x = x + 1\n")["x"] == ONE


def test_only_two_loops_in_one_another_are_read_round_by_round() -> None:
    text = "x = 0\nfor a in (1, 2):\n  for b in (1, 2):\n    for c in (1, 2):\n      x = x + 1\n"
    assert names(text)["x"] == Const(4)
