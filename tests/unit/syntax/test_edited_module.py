"""The summary of an edited module says the same as one that is made from the beginning."""

from __future__ import annotations

import pytest

from tests.unit.syntax.test_lazy_module import SAMPLES, sample
from tpulint.finding import Location
from tpulint.syntax import ir
from tpulint.syntax.edited_module import LEFT_OVER, edited
from tpulint.syntax.lazy_module import pieces_of, summarize

ModuleParts = list[tuple[str, Location, list[str], list[str], str]]

MODULE = """
class Meter:
    def __init__(self):
        self.size = 1
        self.total = 0
        self.log = lambda: self.total

    def reset(self):
        def inner():
            self.total = 0
        inner()
        return self


def plain(x):
    x = x + 1
    x = x + 2
    return x
"""


def opened(text: str) -> ir.ModuleSummary:
    return summarize(text)


def facts_of(text: str, facts: ir.ModuleSummary) -> ModuleParts:
    """Return what the summary says of each function, without those of bodies that are gone."""
    pieces = pieces_of(text, facts)
    for each in facts.functions:  # reading a body adds those in it
        assert each.body is not None
    found = [
        (
            each.name,
            pieces.range(each.place)[0],
            each.mentions,
            each.local_names,
            "" if each.parent is None else facts.functions[each.parent].name,
        )
        for each in facts.functions
        if each.parent is None or each.parent >= 0
    ]
    return sorted(found, key=lambda each: each[1])


def edits(text: str) -> list[str]:
    """The text with each of its longer rows doubled or commented, one at a time."""
    lines = text.splitlines(keepends=True)
    places = [
        number
        for number, line in enumerate(lines)
        if line.startswith("    ") and line.rstrip().endswith(")") and line.count("(") == 1
    ]
    chosen = places[:: max(len(places) // 4, 1)]
    doubled = ["".join([*lines[:each], lines[each], *lines[each:]]) for each in chosen]
    return doubled + ["".join([*lines[:each], "# words\n", *lines[each:]]) for each in chosen]


@pytest.mark.parametrize("name", SAMPLES)
def test_an_edited_module_is_summarized_as_a_new_one(name: str) -> None:
    text = sample(name)
    facts = opened(text)
    first = facts_of(text, facts)
    kept = 0
    for new in edits(text):
        again = edited(facts, text, new)
        kept += again is not None
        again = again or opened(new)
        assert facts_of(new, again) == facts_of(new, opened(new))
        facts = edited(again, new, text) or opened(text)  # the edit is taken back
        assert facts_of(text, facts) == first
    assert kept


def test_only_the_edited_body_is_read_again() -> None:
    facts = opened(MODULE)
    facts_of(MODULE, facts)
    again = edited(facts, MODULE, MODULE.replace("x + 1", "x + 3\n    x = x + 4"))
    assert again is not None
    unread = [each.name for each in again.functions if each.known is None]
    assert unread == ["plain"]


def test_what_a_body_defined_and_set_goes_with_it() -> None:
    facts = opened(MODULE)
    facts_of(MODULE, facts)
    (meter,) = facts.classes
    assert len(facts.setters(meter, "total")) == 2
    new = MODULE.replace(
        "        def inner():\n            self.total = 0\n        inner()\n",
        "        pass\n        pass\n",
    )
    again = edited(facts, MODULE, new)
    assert again is not None
    pieces_of(new, again)
    (meter,) = again.classes
    assert len(again.setters(meter, "total")) == 1
    assert "inner" not in [each[0] for each in facts_of(new, again)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def plain(x):", "def plain(x, y):"),
        ("class Meter:", "class Other:"),
        ("def plain", "import os\n\n\ndef plain"),
        ("    return x\n", "    return x\n\n\ndef more():\n    pass\n"),
        ("x + 1", "x + ("),
        ("    x = x + 1\n    x = x + 2\n", ""),  # a short body is read with what is around it
    ],
)
def test_what_is_around_the_bodies_is_read_anew(old: str, new: str) -> None:
    facts = opened(MODULE)
    assert old in MODULE
    assert edited(facts, MODULE, MODULE.replace(old, new)) is None


def test_what_is_left_over_of_bodies_does_not_grow_for_ever() -> None:
    facts, text = opened(MODULE), MODULE
    for number in range(2 * LEFT_OVER):
        facts_of(text, facts)
        new = MODULE.replace(
            "self.total = 0\n        inner", f"self.total = {number}\n        inner"
        )
        again = edited(facts, text, new)
        if again is None:
            return
        facts, text = again, new
    raise AssertionError(len(facts.functions))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    x = x + 1\n", "    x = (x + 1\n"),
        ("    x = x + 1\n", "    x = x + 1\n  y = 2\n"),
        ("    x = x + 1\n", '    x = """x + 1\n'),
        ("        inner()\n", "    inner()\n"),
        (
            "        def inner():\n            self.total = 0\n",
            "   def inner():\n            pass\n",
        ),
        ("    return x\n", "    return x \\\n"),
    ],
)
def test_an_edit_that_breaks_a_body_is_refused(old: str, new: str) -> None:
    facts = opened(MODULE)
    assert MODULE.count(old) == 1
    assert edited(facts, MODULE, MODULE.replace(old, new)) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return x\n", "    return x\n\n\ndef late(y):\n    y = 1\n    y = 2\n    return y\n"),
        ("    x = x + 2\n", "    x = x + 2\nx = 3\n"),
        ("    x = x + 1\n    x = x + 2\n", ""),
        ("        self.size = 1\n", "        self.size = 1\n    shared = 2\n"),
    ],
)
def test_an_edit_that_leaves_its_body_is_read_from_the_beginning(old: str, new: str) -> None:
    assert MODULE.count(old) == 1
    text = MODULE.replace(old, new)
    facts = opened(MODULE)
    assert edited(facts, MODULE, text) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    x = x + 1\n", "    # words\n    x = x + 1\n    z = [\nx]\n"),
        ("    x = x + 2\n    return x\n", "    x = x + 2\n    x += 3\n"),
        (
            "        inner()\n        return self\n",
            "        inner()\n        return inner\n    # end\n",
        ),
    ],
)
def test_an_edit_inside_a_body_costs_that_body_alone(old: str, new: str) -> None:
    assert MODULE.count(old) == 1
    text = MODULE.replace(old, new)
    facts = opened(MODULE)
    again = edited(facts, MODULE, text)
    assert again is not None
    assert facts_of(text, again) == facts_of(text, opened(text))
