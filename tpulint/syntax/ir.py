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

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tpulint.syntax import text_scan

VERSION = 4

Node = list[Any]
Rows = tuple[int, int, int]  # the first and the last of a body, and the column it ends before

# The kinds of node that have a place; the ordinal of a place counts within its kind.
NAME, ATTRIBUTE, CALL, LAMBDA, SUBSCRIPT, KEYWORD, DISPLAY, COMPREHENSION = range(8)
FUNCTION, CLASS, RETURN, IF, FOR, WHILE, WITH, YIELD, IFEXP = range(8, 17)
KINDS = 17
PLACE_BASE = 32
UNCOUNTED = -1  # the one count of what cannot be checked by counting
PIECE = 1 << 40  # places of each piece of a module, which is numbered by itself (see `pieces`)


def place(kind: int, ordinal: int, piece: int = 0) -> int:
    return piece * PIECE + ordinal * PLACE_BASE + kind


@dataclass
class Parameters:
    """Names with their defaults (an expression, or None where there is none)."""

    positional_only: list[tuple[str, Node | None]] = field(default_factory=list)
    positional: list[tuple[str, Node | None]] = field(default_factory=list)
    star: str | None = None
    keyword_only: list[tuple[str, Node | None]] = field(default_factory=list)
    star_star: str | None = None


@dataclass
class Inside:
    """What is in a function. `mentions` holds every identifier, nested code included.

    counts: the places of each kind, where the function is a piece of its own.
    """

    body: list[Node]
    mentions: list[str]
    local_names: list[str]
    is_generator: bool
    counts: list[int] | None = None


class Reader(Protocol):
    """Reads the functions that nobody asked for when the module was read."""

    def read(self, function: Function) -> Inside: ...

    def text(self, function: Function) -> str: ...


@dataclass
class Function:
    """A `def` or a lambda. `rows` are those of its body, as long as that is not read."""

    name: str
    place: int
    parameters: Parameters
    decorators: list[Node]
    is_async: bool
    is_lambda: bool
    class_index: int | None
    parent: int | None
    index: int = -1
    known: Inside | None = None
    rows: Rows | None = None
    reader: Reader | None = field(default=None, repr=False, compare=False)

    @property
    def inside(self) -> Inside:
        """What is in it, read at the first question."""
        if self.known is None:
            assert self.reader is not None
            self.known = self.reader.read(self)
        return self.known

    @property
    def body(self) -> list[Node]:
        return self.inside.body

    @property
    def mentions(self) -> list[str]:
        return self.inside.mentions

    @property
    def local_names(self) -> list[str]:
        return self.inside.local_names

    @property
    def is_generator(self) -> bool:
        return self.inside.is_generator

    def names_any(self, names: frozenset[str]) -> bool:
        """Whether one of `names` is an identifier in it; its text may tell that none is."""
        self.read_if(lambda text: any(text_scan.stands(name, text) for name in names))
        return self.known is not None and not names.isdisjoint(self.known.mentions)

    def read_if(self, may_matter: Callable[[str], bool]) -> None:
        """Read it now if it is unread and its text may matter."""
        if self.known is None and self.reader is not None and may_matter(self.reader.text(self)):
            self.known = self.reader.read(self)


@dataclass
class Class:
    """A class; `setters`: the methods that set an attribute on self, of those that were read."""

    name: str
    place: int
    bases: list[Node]
    keywords: list[Node]
    decorators: list[Node]
    body: list[Node]
    methods: list[int]
    setters: dict[str, list[int]]
    parent: int | None
    index: int = -1


@dataclass
class ModuleFacts:
    """The summary of one module. `counts` are the places of each kind, to check positions by.

    `mentions` holds every identifier but those in functions that are pieces of their own.
    """

    body: list[Node]
    functions: list[Function]
    classes: list[Class]
    mentions: list[str]
    counts: list[int]

    def names_any(self, names: frozenset[str]) -> bool:
        """Whether one of `names` is an identifier in the module."""
        if not names.isdisjoint(self.mentions):
            return True
        return any(each.rows is not None and each.names_any(names) for each in self.functions)

    def pieces_read(self) -> int:
        """How many of the functions that were left for later have been read."""
        return sum(each.rows is not None and each.known is not None for each in self.functions)

    def setters(self, owner: Class, name: str) -> list[int]:
        """The methods of `owner` that set `self.name`, in source order."""
        for index in owner.methods:
            self.functions[index].read_if(lambda text: text_scan.may_be_set(name, text))
        return sorted(owner.setters.get(name, []))


def to_json(facts: ModuleFacts) -> dict[str, Any]:
    """The summary as JSON's types; its lists are shared, not copied."""
    functions = [
        {
            **vars(each),
            "parameters": vars(each.parameters),
            "known": None if each.known is None else vars(each.known),
            "reader": None,
        }
        for each in facts.functions
    ]
    return {**vars(facts), "functions": functions, "classes": [vars(e) for e in facts.classes]}


def from_json(data: dict[str, Any]) -> ModuleFacts:
    """Rebuild what `to_json` wrote; raises KeyError or TypeError where `data` is something else."""
    functions = [
        Function(
            **{
                **row,
                "parameters": Parameters(**row["parameters"]),
                "known": None if row["known"] is None else Inside(**row["known"]),
            }
        )
        for row in data["functions"]
    ]
    classes = [Class(**row) for row in data["classes"]]
    return ModuleFacts(data["body"], functions, classes, data["mentions"], data["counts"])
