"""Modules read from the outside in say the same as modules read at once."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from tpulint.finding import Location
from tpulint.syntax import ir
from tpulint.syntax.lazy_module import Pieces, summarize
from tpulint.syntax.lowering import Lowering
from tpulint.syntax.nodes import Attribute, CallNode, If, Name, Return, walk
from tpulint.syntax.parse import SyntaxProblem, lines_of, parse

SAMPLES = ("asyncio/tasks.py", "contextlib.py", "functools.py", "queue.py", "typing.py")
KINDS = (CallNode, Name, Attribute, Return, If)

CLASS = """
import a

class C(a.B):
    x = 1

    def __init__(self, size=a.default()):
        # a comment
        self.size = size
        self.other = [
            size]
        self.third = 3  # its end

    @property
    def one(self):
        def inner():
            self.one_more = 1
            return f"{self.size}" + g(1, 'é')
        return inner

    def short(self): return 1

    async def last(self):
        '''Words.'''
        async with self.size as s:
            await s

    # after the last
y = C()
"""


def sample(name: str) -> str:
    return (Path(sysconfig.get_path("stdlib")) / name).read_text(encoding="utf-8")


def opened(text: str) -> tuple[ir.ModuleSummary, Pieces]:
    """The summary with its bodies left for later."""
    facts = summarize(text)
    assert isinstance(facts.pieces, Pieces)
    return facts, facts.pieces


def whole(text: str) -> tuple[ir.ModuleSummary, Pieces]:
    """The summary with nothing left for later."""
    statements = Lowering()
    body = statements.block(parse(text).body)
    functions, classes = statements.functions, statements.classes
    facts = ir.ModuleSummary(body, functions, classes, [], statements.positions)
    facts.pieces = Pieces(facts, lines_of(text), {})
    return facts, facts.pieces


def placed(facts: ir.ModuleSummary, pieces: Pieces) -> list[tuple[str, Location, Location]]:
    """Each expression that has a place, with where that is."""
    waiting = [facts.body]
    waiting += [function.body for function in facts.functions]  # reading a body adds those in it
    ranges: list[tuple[str, Location, Location]] = []
    seen = len(facts.functions)
    while waiting:
        for node in walk(*waiting.pop()):
            if isinstance(node, KINDS):
                ranges.append((type(node).__name__, *pieces.range(node.place)))
        waiting += [function.body for function in facts.functions[seen:]]
        seen = len(facts.functions)
    for code in facts.classes:
        ranges += [
            (type(node).__name__, *pieces.range(node.place))
            for node in walk(*code.body)
            if isinstance(node, KINDS)
        ]
    ranges += [(function.name, *pieces.range(function.place)) for function in facts.functions]
    ranges += [(cls.name, *pieces.range(cls.place)) for cls in facts.classes]
    return sorted(ranges)


@pytest.mark.parametrize("text", [CLASS, *map(sample, SAMPLES)], ids=["class", *SAMPLES])
def test_a_module_read_from_the_outside_is_the_module_read_at_once(text: str) -> None:
    facts, pieces = opened(text)
    assert any(function.known is None for function in facts.functions)
    assert placed(facts, pieces) == placed(*whole(text))


@pytest.mark.parametrize("text", [CLASS, *map(sample, SAMPLES)], ids=["class", *SAMPLES])
def test_a_body_that_is_read_after_the_trees_are_gone_is_the_same(text: str) -> None:
    facts, pieces = opened(text)
    pieces.release()
    assert placed(facts, pieces) == placed(*whole(text))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_places_do_not_depend_on_line_ends(end: str) -> None:
    text = CLASS.replace("\n", end)
    assert placed(*opened(text)) == placed(*whole(CLASS))


def test_a_body_is_read_when_it_is_asked_for() -> None:
    facts, _ = opened(CLASS)
    (init,) = (function for function in facts.functions if function.name == "__init__")
    assert init.known is None
    assert "size" in init.mentions
    assert init.known is not None
    assert [function.name for function in facts.functions if function.rows and function.known] == [
        "__init__"
    ]


def test_the_setters_of_an_attribute_are_found_in_what_was_not_read() -> None:
    facts, _ = opened(CLASS)
    (owner,) = facts.classes
    names = [facts.functions[index].name for index in facts.setters(owner, "third")]
    assert names == ["__init__"]
    assert facts.setters(owner, "nothing") == []


def test_names_are_found_in_what_was_not_read() -> None:
    facts, _ = opened(CLASS)
    assert facts.names_any(frozenset(["third"]))
    assert not facts.names_any(frozenset(["comment"]))  # is in a comment only
    assert not facts.names_any(frozenset(["siz"]))


def test_the_end_of_what_holds_a_body_left_out_is_its_own_end() -> None:
    facts, pieces = opened(CLASS)
    (init,) = (function for function in facts.functions if function.name == "__init__")
    assert pieces.range(init.place) == (Location(7, 5), Location(12, 23))
    assert pieces.range(facts.classes[0].place) == (Location(4, 1), Location(26, 20))


@pytest.mark.parametrize(
    "text",
    [
        "def f(): x = 1; y = 2\n",
        "def f():\n    x = 1\n    y = 2\n    z = 1 + \\\n2\\\n\n",
        "if x:\n  def f():\n  \ta\n  \tb\n  \tc\n",
        "def f():\n    '''\n# no comment\n    '''\n    return 1\n\n\n",
        "async def f(\n    a, b\n): \n\n    @a\n    def b():\n        pass\n    return b",
        "try:\n  def f():\n    1\n    2\n    3\nexcept E:\n  def g():\n    1\n    2\n    3\n"
        "else:\n  def h():\n    1\n    2\n    3\nfinally:\n  def i():\n    1\n    2\n    3\n",
    ],
)
def test_odd_ways_to_stand(text: str) -> None:
    assert placed(*opened(text)) == placed(*whole(text))


def test_a_fault_in_a_body_is_found_at_once() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        summarize(CLASS.replace("self.third = 3", "print 'hello'"))
    assert caught.value.row == 12
