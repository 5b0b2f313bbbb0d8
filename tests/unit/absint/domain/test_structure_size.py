"""Structures are bounded: a walk over one ends, whatever was put into what."""

from __future__ import annotations

import pytest

from tests.unit.reading import names
from tpulint.absint.domain.objects import MAX_STRUCTURE_SIZE, Mapping, Sequence, size_of
from tpulint.absint.domain.structures import STRUCTURES, parts
from tpulint.absint.domain.values import UNKNOWN, Const, Value

DOUBLINGS = {
    "tuple": "a = (a, a)",
    "list": "a = [a, a]",
    "dict": "a = {'x': a, 'y': a}",
    "keywords": "a = dict(x=a, y=a)",
    "sum": "a = [*(a if isinstance(a, list) else [a])]\na = a + a",
    "augmented": "a = [a]\na += a",
    "star": "a = [a]\na = [*a, *a]",
    "extend": "a = [a]\na.extend(a)",
    "zip": "a = [a]\na = list(zip(a, a))",
    "call": "a = (lambda x: (x, x))(a)",
    "star arguments": "a = (lambda *x: x)(a, a)",
    "keyword arguments": "a = (lambda **x: x)(x=a, y=a)",
    "condition": "a = (a, a) if unseen else [a, a]",
    "times": "a = [a] * 2",
    "comprehension": "a = [(x, x) for x in [a, a]]",
    "enumerate": "a = [a, list(enumerate([a]))]",
    "item": "b = {}\nb['x'] = a\nb['y'] = a\na = b",
    "default": "b = {}\nb.setdefault('x', a)\nb.update(y=a)\na = b",
    "append": "b = []\nb.append(a)\nb.append(a)\na = b",
    "attribute": "class A: pass\nb = A()\nb.x = b.y = a\na = b.__dict__",
}


def walked(value: Value, limit: int) -> int:
    """Return how many values a walk over all of `value` comes by; more than `limit` is enough."""
    stack, number = [value], 0
    while stack and number <= limit:
        actual = stack.pop()
        number += 1
        if isinstance(actual, STRUCTURES):
            stack += parts(actual)
    return number


@pytest.mark.parametrize("kind", DOUBLINGS)
def test_a_value_that_doubles_with_each_line_is_bounded(kind: str) -> None:
    lines = f"{DOUBLINGS[kind]}\n" * 26
    actual = names(f"from anywhere import unseen\na = 1\n{lines}")["a"]
    assert walked(actual, 10 * MAX_STRUCTURE_SIZE) <= 6 * MAX_STRUCTURE_SIZE


def test_a_string_that_doubles_with_each_line_is_bounded() -> None:
    actual = names("a = 'word'\n" + "a = a + a\n" * 40)["a"]
    assert repr(actual).startswith("'wordword")
    assert len(repr(actual)) < 10 * MAX_STRUCTURE_SIZE


@pytest.mark.parametrize(
    "text",
    [
        "a = []\na.append(a)",
        "a = []\na += [[a]]",
        "a = {}\na['x'] = a",
        "b = []\na = [b]\nb.append(a)",
        "b = {}\na = [b]\nb.update(x=(a, b))",
        "class A: pass\nb = A()\nb.x = b.__dict__\nb.x['y'] = b.x\na = b.x",
        "class A: pass\nb = A()\nc = A()\nb.x = c.__dict__\nc.x = b.__dict__\na = b.__dict__",
    ],
)
def test_nothing_contains_itself(text: str) -> None:
    assert walked(names(text)["a"], MAX_STRUCTURE_SIZE) < 10


def test_what_is_in_another_structure_grows_as_far_as_that_has_room() -> None:
    """Each list is in the one before fifteen times, and grows when it is there already."""
    lists = "".join(f"a{n} = []\nb{n} = [a{n}] * 15\n" for n in range(12))
    growth = "".join(f"a{n}.append(b{n + 1})\n" for n in range(11))
    actual = names(lists + growth)["b0"]
    assert walked(actual, 10 * MAX_STRUCTURE_SIZE) <= MAX_STRUCTURE_SIZE


def test_a_replaced_item_leaves_its_room() -> None:
    row = Sequence("list", [Const(1)] * 1000)
    table = Mapping({})
    for _ in range(MAX_STRUCTURE_SIZE):
        table.set("x", row)
    assert table.items["x"] is row
    assert table.size == size_of(row) + 1


def test_what_does_not_fit_is_unknown() -> None:
    row = Sequence("list", [Const(1)] * 1000)
    assert Sequence("tuple", [row] * 3).items == [row] * 3
    large = Sequence("tuple", [row] * 5)
    assert (large.items, large.open) == ([UNKNOWN] * 5, False)
    endless = Sequence("list", [Const(1)] * (MAX_STRUCTURE_SIZE + 1))
    assert (endless.items, endless.open) == ([], True)
