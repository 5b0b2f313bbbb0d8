"""Summaries of modules, and that their places are where the source has them."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest

from tpulint.finding import Location
from tpulint.syntax import expression_nodes, ir, serialize, statement_nodes
from tpulint.syntax.expression_nodes import BinaryOperation, CallNode
from tpulint.syntax.lower import lower, lower_with_nodes
from tpulint.syntax.nodes import Node, walk
from tpulint.syntax.parse import NESTED_TOO_DEEPLY, SyntaxProblem, parse
from tpulint.syntax.positions import Positions, paired, provided
from tpulint.syntax.statement_nodes import Assign, Match
from tpulint.syntax.summarize import summarize_here

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
    return lower(parse(text))


def calls(*roots: Node) -> list[CallNode]:
    """Every call in parts of a summary, outermost first."""
    return [each for each in walk(*roots) if isinstance(each, CallNode)]


def call_texts(text: str) -> list[str]:
    """The source of each call as its place says it, in source order."""
    facts = facts_of(text)
    positions = Positions(text, facts.counts)
    bodies = [facts.body, *(function.body for function in facts.functions)]
    places = sorted({call.place for body in bodies for call in calls(*body)})
    return [piece(text, *positions.range(place)) for place in places]


def piece(text: str, start: Location, end: Location) -> str:
    lines = text.splitlines(keepends=True)[start.row - 1 : end.row]
    lines[-1] = lines[-1][: end.column - 1]
    lines[0] = lines[0][start.column - 1 :]
    return "".join(lines)


@pytest.mark.parametrize("name", SAMPLES)
def test_places_pair_with_ast_and_are_those_of_the_provider(name: str) -> None:
    text = sample(name)
    facts, nodes = lower_with_nodes(parse(text))
    assert paired(text, facts.counts) is not None
    positions = Positions(text, facts.counts)
    exact = provided(text)
    assert exact.keys() == nodes.keys()
    # The two count the parentheses of a tuple or a comprehension in different ways.
    kinds = (ir.NAME, ir.ATTRIBUTE, ir.CALL, ir.LAMBDA, ir.SUBSCRIPT, ir.RETURN, ir.IFEXP)
    for place, range_ in exact.items():
        if place % ir.PLACE_BASE in kinds:
            assert positions.range(place) == range_


@pytest.mark.parametrize("name", SAMPLES)
def test_a_summary_survives_json(name: str) -> None:
    facts = facts_of(sample(name))
    again = serialize.loads(serialize.dumps(facts))
    assert again.body == facts.body
    assert [each.body for each in again.functions] == [each.body for each in facts.functions]
    assert again.classes == facts.classes
    assert serialize.dumps(again) == serialize.dumps(facts)


def test_every_class_of_node_can_be_written() -> None:
    classes = {
        each
        for module in (expression_nodes, statement_nodes)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Node) and each.__module__ == module.__name__
    }
    assert {cls for cls, _ in serialize.FORMS} == classes


@pytest.mark.parametrize("name", SAMPLES)
def test_every_function_and_class_is_kept(name: str) -> None:
    text = sample(name)
    facts = facts_of(text)
    tree = list(ast.walk(ast.parse(text)))
    functions = [each for each in tree if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
    lambdas = [each for each in tree if isinstance(each, ast.Lambda)]
    classes = [each for each in tree if isinstance(each, ast.ClassDef)]
    named = [each for each in facts.functions if not each.is_lambda]
    assert sorted(each.name for each in named) == sorted(each.name for each in functions)
    assert len(facts.functions) - len(named) == len(lambdas)
    assert sorted(each.name for each in facts.classes) == sorted(each.name for each in classes)


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
    """`ast` has names in patterns; they are left out on both sides."""
    text = "match x:\n    case Point(a.b, c=[1, *d]):\n        pass\nlast(x)\n"
    assert paired(text, facts_of(text).counts) is not None
    assert call_texts(text) == ["last(x)"]


@pytest.mark.parametrize("nest", ["[{}]", "({})", "{{'key': {}}}", "Point({})"])
def test_nested_patterns_are_read_at_once(nest: str) -> None:
    """libcst's parser takes twice as long with each level: hours at this one."""
    pattern = "a"
    for _ in range(32):
        pattern = nest.format(pattern)
    text = f"outside_compilation(x)\nmatch x:\n    case {pattern}:\n        last(x)\n"
    facts = summarize_here(text)
    assert isinstance(facts, ir.ModuleSummary)
    assert isinstance(facts.body[-1], Match)
    assert isinstance(summarize_here(text + "("), tuple)


def test_a_walrus_binds_in_the_function() -> None:
    facts = facts_of("def f(x):\n    return (y := x) + y\n")
    assert "y" in facts.functions[0].local_names


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
    start, end = Positions(text, facts.counts).range(last.place)
    assert piece(text, start, end) == "after(1)"


def test_nesting_that_breaks_python_is_refused() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse("x = " + "(" * 5000 + ")" * 5000 + "\n")
    assert caught.value.reason == NESTED_TOO_DEEPLY


def test_a_fault_is_placed_where_python_places_it() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse("x = 1\nprint 'hello'\n")
    assert caught.value.row == 2


def test_a_place_of_another_text_is_looked_up_by_the_provider() -> None:
    """Counts that do not fit the tree must not put a finding on a wrong line."""
    text = "first(1)\nsecond(2)\n"
    facts = facts_of(text)
    wrong = list(facts.counts)
    wrong[ir.CALL] += 1
    assert paired(text, wrong) is None
    last = calls(facts.body[-1])[0]
    assert piece(text, *Positions(text, wrong).range(last.place)) == "second(2)"


def test_no_place_is_the_first_character() -> None:
    assert Positions("x = 1\n", []).range(-1) == (Location(1, 1), Location(1, 1))


def test_a_lambda_in_a_class_is_no_method() -> None:
    facts = facts_of("class A:\n    b = lambda self: self.c\n    def d(self): pass\n")
    (made,) = facts.classes
    assert [facts.functions[index].name for index in made.methods] == ["d"]
    assert [each.class_index for each in facts.functions] == [0, 0]
