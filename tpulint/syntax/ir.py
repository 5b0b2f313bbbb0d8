"""The summary language: what is kept of a module once its tree is gone.

Expressions and statements are lists (they travel through JSON as they are), the
first item is the operation. `place` is an ordinal that `positions` turns into rows
and columns only when somebody asks, for positions are the dear part of a tree.

Expressions
    name place id | attr place base name | call place callee arguments | const value
    tuple|list|set place items | star item | dict place pairs | sub place base index
    slice parts | lambda place function | ifexp place test body orelse | bool op items
    not item | cmp left pairs | bin op left right | unary op item
    comp kind place elements clauses | await item | yield place item | yieldfrom place item
    walrus name item | fstr items | other items
    An argument is [keyword or null, star ("", "*" or "**"), expression, place].
Statements
    assign targets value | aug op target value | ann target annotation value | expr value
    return place value | if place test body orelse | for place target iter body orelse
    while place test body orelse | with place items body | try body handlers orelse final
    def function | class class | import names | from module level names | global names
    nonlocal names | del targets | raise items | assert items | pass | break | continue
    match subject cases
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

VERSION = 3

Node = list[Any]

# The kinds of node that have a place; the ordinal of a place counts within its kind.
NAME, ATTRIBUTE, CALL, LAMBDA, SUBSCRIPT, KEYWORD, DISPLAY, COMPREHENSION = range(8)
FUNCTION, CLASS, RETURN, IF, FOR, WHILE, WITH, YIELD, IFEXP = range(8, 17)
KINDS = 17
PLACE_BASE = 32


def place(kind: int, ordinal: int) -> int:
    return ordinal * PLACE_BASE + kind


@dataclass
class Parameters:
    """Names with their defaults (an expression, or None where there is none)."""

    positional_only: list[tuple[str, Node | None]] = field(default_factory=list)
    positional: list[tuple[str, Node | None]] = field(default_factory=list)
    star: str | None = None
    keyword_only: list[tuple[str, Node | None]] = field(default_factory=list)
    star_star: str | None = None


@dataclass
class Function:
    """A `def` or a lambda. `mentions` holds every identifier in it, nested code included."""

    name: str
    place: int
    parameters: Parameters
    body: list[Node]
    decorators: list[Node]
    mentions: list[str]
    local_names: list[str]
    is_generator: bool
    is_async: bool
    is_lambda: bool
    class_index: int | None
    parent: int | None
    index: int = -1


@dataclass
class Class:
    """A class: `methods` by name; `setters`: the methods that set an attribute on self."""

    name: str
    place: int
    bases: list[Node]
    keywords: list[Node]
    decorators: list[Node]
    body: list[Node]
    methods: dict[str, int]
    setters: dict[str, list[int]]
    parent: int | None
    index: int = -1


@dataclass
class ModuleFacts:
    """The summary of one module. `counts` are the places of each kind, to check positions by."""

    body: list[Node]
    functions: list[Function]
    classes: list[Class]
    mentions: list[str]
    counts: list[int]


def to_json(facts: ModuleFacts) -> dict[str, Any]:
    """The summary as JSON's types; its lists are shared, not copied."""
    functions = [{**vars(each), "parameters": vars(each.parameters)} for each in facts.functions]
    return {**vars(facts), "functions": functions, "classes": [vars(e) for e in facts.classes]}


def from_json(data: dict[str, Any]) -> ModuleFacts:
    """Rebuild what `to_json` wrote; raises KeyError or TypeError where `data` is something else."""
    functions = [
        Function(**{**row, "parameters": Parameters(**row["parameters"])})
        for row in data["functions"]
    ]
    classes = [Class(**row) for row in data["classes"]]
    return ModuleFacts(data["body"], functions, classes, data["mentions"], data["counts"])
