"""Summaries of modules, and that their places are where the source has them."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest

from tpulint.finding import Location
from tpulint.syntax import ir
from tpulint.syntax.lazy_module import summarize
from tpulint.syntax.nodes import (
    NOWHERE,
    Assign,
    BinaryOperation,
    CallNode,
    Match,
    Node,
    parts,
    walk,
)
from tpulint.syntax.parse import NESTED_TOO_DEEPLY, SyntaxProblem, parse

# Files of Python's own library with the widest choice of syntax; all are in 3.10 and later.
SAMPLES = (
    "asyncio/tasks.py",
    "bisect.py",
    "contextlib.py",
    "functools.py",
    "queue.py",
    "textwrap.py",
)


def sample(name: str) -> str:
    return (Path(sysconfig.get_path("stdlib")) / name).read_text(encoding="utf-8")


def facts_of(text: str) -> ir.ModuleSummary:
    return summarize(text)


def calls(*roots: Node) -> list[CallNode]:
    """Every call in parts of a summary, outermost first."""
    return [child for child in walk(*roots) if isinstance(child, CallNode)]


def call_texts(text: str) -> list[str]:
    """The source of each call as its place says it, in source order."""
    facts = facts_of(text)
    pieces = facts.pieces
    assert pieces is not None
    bodies = [facts.body, *(function.body for function in facts.functions)]
    places = {call.place for body in bodies for call in calls(*body)}
    return [piece(text, *place) for place in sorted(map(pieces.range, places - {NOWHERE}))]


def piece(text: str, start: Location, end: Location) -> str:
    lines = text.splitlines(keepends=True)[start.row - 1 : end.row]
    lines[-1] = lines[-1][: end.column - 1]
    lines[0] = lines[0][start.column - 1 :]
    return "".join(lines)


@pytest.mark.parametrize("name", SAMPLES)
def test_each_call_has_the_range_that_python_gives_it(name: str) -> None:
    text = sample(name)
    expected = {ast.get_source_segment(text, e) for e in ast.walk(ast.parse(text)) if is_call(e)}
    texts = call_texts(text)
    assert len(texts) > 10
    assert set(texts) <= expected


def is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_function_and_class_is_kept(name: str) -> None:
    text = sample(name)
    facts = facts_of(text)
    tree = list(ast.walk(ast.parse(text)))
    functions = [node for node in tree if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    lambdas = [node for node in tree if isinstance(node, ast.Lambda)]
    classes = [node for node in tree if isinstance(node, ast.ClassDef)]
    for function in facts.functions:  # reading a body adds those in it
        assert function.body is not None
    named = [node for node in facts.functions if not node.is_lambda]
    assert sorted(node.name for node in named) == sorted(node.name for node in functions)
    assert len(facts.functions) - len(named) == len(lambdas)
    assert sorted(cls.name for cls in facts.classes) == sorted(cls.name for cls in classes)


def test_columns_count_characters() -> None:
    text = 'größe = "äöü"; x = f(größe) + g("日本", größe)\n'
    assert call_texts(text) == ["f(größe)", 'g("日本", größe)']


def test_calls_over_several_lines_are_whole() -> None:
    text = "x = f(\n    a,  # ü\n    b=g(1),\n)\ny = (h)(2)\n"
    assert call_texts(text) == ["f(\n    a,  # ü\n    b=g(1),\n)", "g(1)", "(h)(2)"]


def test_what_stands_in_an_f_string_is_read_and_has_no_place() -> None:
    text = 'x = f"{g(a)!r:>{width(b)}} {h(c)}" + k(d)\n'
    facts = facts_of(text)
    assert [call.place for call in calls(*facts.body)].count(-1) == 2
    assert call_texts(text)[-1] == "k(d)"
    assert {"g", "h", "k"} <= set(facts.mentions)


def test_match_keeps_its_cases() -> None:
    text = (
        "match command(x):\n"
        "    case [first, *rest] if ready(first):\n"
        "        run(first)\n"
        "    case {'key': Point(x=0)}:\n"
        "        stop(x)\n"
        "    case _:\n"
        "        wait()\n"
    )
    (statement,) = facts_of(text).body
    assert isinstance(statement, Match)
    assert len(statement.cases) == 3
    assert call_texts(text) == ["command(x)", "ready(first)", "run(first)", "stop(x)", "wait()"]


def test_places_beside_a_pattern_are_right() -> None:
    text = "match x:\n    case Point(a.b, c=[1, *d]):\n        pass\nlast(x)\n"
    assert call_texts(text) == ["last(x)"]


@pytest.mark.parametrize("nest", ["[{}]", "({})", "{{'key': {}}}", "Point({})"])
def test_nested_patterns_are_read_at_once(nest: str) -> None:
    """libcst's parser takes twice as long with each level: hours at this one."""
    pattern = "a"
    for _ in range(32):
        pattern = nest.format(pattern)
    text = f"outside_compilation(x)\nmatch x:\n    case {pattern}:\n        last(x)\n"
    assert isinstance(facts_of(text).body[-1], Match)
    with pytest.raises(SyntaxProblem):
        facts_of(text + "(")


def test_a_walrus_binds_in_the_function() -> None:
    facts = facts_of("def f(x):\n    return (y := x) + y\n")
    assert "y" in facts.functions[0].inside.local_names


def test_a_chain_of_operators_does_not_nest_the_walk() -> None:
    facts = facts_of("x = " + " + ".join(["a"] * 900) + "\n")
    (statement,) = facts.body
    assert isinstance(statement, Assign)
    node, depth = statement.value, 0
    while isinstance(node, BinaryOperation):
        node, depth = node.left, depth + 1
    assert depth == 899


def test_what_is_too_deep_is_left_out_and_the_rest_stays() -> None:
    deep = "f(" * 150 + "x" + ")" * 150
    text = f"def f(x):\n    return {deep}\nafter(1)\n"
    facts = facts_of(text)
    last = calls(facts.body[-1])[0]
    assert facts.pieces is not None
    start, end = facts.pieces.range(last.place)
    assert piece(text, start, end) == "after(1)"


def test_nesting_that_breaks_python_is_refused() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse("x = " + "(" * 5000 + ")" * 5000 + "\n")
    assert caught.value.reason == NESTED_TOO_DEEPLY


def test_a_fault_is_placed_where_python_places_it() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse("x = 1\nprint 'hello'\n")
    assert caught.value.row == 2


def test_no_place_is_the_first_character() -> None:
    pieces = facts_of("x = 1\n").pieces
    assert pieces is not None
    assert pieces.range(-1) == (Location(1, 1), Location(1, 1))


def test_a_lambda_in_a_class_is_no_method() -> None:
    facts = facts_of("class A:\n    b = lambda self: self.c\n    def d(self): pass\n")
    (cls,) = facts.classes
    assert [facts.functions[index].name for index in cls.methods] == ["d"]
    assert [function.class_index for function in facts.functions] == [0, 0]


def test_a_walk_comes_by_every_node_that_a_field_holds() -> None:
    for name in SAMPLES:
        facts = facts_of(sample(name))
        for node in walk(*facts.body, *(part for f in facts.functions for part in f.body)):
            held = [getattr(node, field) for field in node.__slots__]
            rows = [value if isinstance(value, list) else [value] for value in held]
            assert [*parts(node)] == [
                item for row in rows for item in row if isinstance(item, Node)
            ]
