"""Modules of the project: which names may be written in them."""

from __future__ import annotations

import pytest

from tests.unit.reading import interpreter
from tpulint.syntax.nodes import For, While, walk

NAMES = frozenset(["run", "fit"])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("trainer.run()\n", {"run"}),
        ("truncated = 1\n", {"run"}),
        ("x = 1\n", set()),
        ("x = 'é'\n", NAMES),
    ],
)
def test_only_names_that_may_be_written_there_are_looked_for(text: str, written: set[str]) -> None:
    _, module = interpreter(text)
    assert module.written(NAMES) == written


LOOPS = """
for one in range(3):
    print(one)

def first():
    def inner():
        for number in range(3):
            print(number)
    inner()
    return 1

def second():
    for other in range(3):
        print(other)
    return 2
"""


def test_a_node_is_looked_for_in_the_function_around_its_place_only() -> None:
    _, module = interpreter(LOOPS)
    first, second = module.facts.functions[:2]
    loops = [node for node in walk(*module.facts.body) if isinstance(node, For)]
    assert first.body
    (inner,) = (function for function in module.facts.functions if function.name == "inner")
    loops += [node for node in walk(*inner.body) if isinstance(node, For)]
    assert len(loops) == 2
    for loop in loops:
        assert module.node_at(loop.place, For) is loop
        assert module.node_at(loop.place, While) is None
    assert second.known is None
