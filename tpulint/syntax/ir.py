"""The summary of a module: its body, its functions and its classes, once its tree is gone."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

from tpulint.finding import Location
from tpulint.syntax.nodes import Block, CallArgument, Expression
from tpulint.syntax.parse import has_name, may_set_attribute

Rows = tuple[int, int, int]  # the first and last row of a body, and the byte that it ends before
PIECE = 1 << 40  # places per piece of a module: each piece is numbered by itself (see `pieces`)


class Parameter(NamedTuple):
    """A parameter and its default, None where it has none."""

    name: str
    default: Expression | None


@dataclass
class Parameters:
    """The parameters of a function, as Python sorts them."""

    positional_only: list[Parameter] = field(default_factory=list)
    positional: list[Parameter] = field(default_factory=list)
    star: str | None = None
    keyword_only: list[Parameter] = field(default_factory=list)
    star_star: str | None = None

    @cached_property
    def by_position(self) -> list[Parameter]:
        """The parameters that a positional argument can be given to."""
        return [*self.positional_only, *self.positional]

    @cached_property
    def names_by_position(self) -> list[str]:
        return [parameter.name for parameter in self.by_position]

    @cached_property
    def named(self) -> list[Parameter]:
        """All but those with stars."""
        return [*self.positional_only, *self.positional, *self.keyword_only]


@dataclass
class FunctionBody:
    """The inside of a function. `mentions` holds every identifier, nested code included.

    positions: those of its places, where the function is a piece of its own (see `lazy_module`).
    """

    statements: Block
    mentions: list[str]
    local_names: frozenset[str]
    is_generator: bool
    positions: array[int] | None = None

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """What is mentioned, to ask whether one of several names is among it."""
        return frozenset(self.mentions)


class Reader(Protocol):
    """Read the functions that were left out when the module was read, and the ranges of places.

    `release` ends that for now: it gives back the memory that makes it fast.
    """

    def read(self, function: FunctionCode) -> FunctionBody: ...
    def text(self, function: FunctionCode) -> str: ...
    def range(self, place: int) -> tuple[Location, Location]: ...
    def release(self) -> None: ...


@dataclass
class FunctionCode:
    """A `def` or a lambda. `rows` are those of its body, as long as that is not read."""

    name: str
    place: int
    parameters: Parameters
    decorators: list[Expression]
    is_async: bool
    is_lambda: bool
    class_index: int | None
    parent: int | None
    index: int = -1
    known: FunctionBody | None = None
    rows: Rows | None = None
    reader: Reader | None = field(default=None, repr=False, compare=False)

    @property
    def inside(self) -> FunctionBody:
        """The function's body, read at the first question."""
        if self.known is None:
            assert self.reader is not None
            self.known = self.reader.read(self)
        return self.known

    @property
    def body(self) -> Block:
        return self.inside.statements

    @property
    def mentions(self) -> list[str]:
        return self.inside.mentions

    def names_any(self, names: frozenset[str]) -> bool:
        """Return whether one of `names` is an identifier in it; its text may say that none is."""
        self.read_if(lambda text: any(has_name(name, text) for name in names))
        return self.known is not None and not names.isdisjoint(self.known.mentions)

    def mentions_any(self, names: frozenset[str]) -> bool:
        """Return whether one of `names` is in it; while it is unread, in its text."""
        if self.known is not None or self.reader is None:
            return not names.isdisjoint(self.mentions)
        text = self.reader.text(self)
        return any(has_name(name, text) for name in names)

    def read_if(self, may_matter: Callable[[str], bool]) -> None:
        """Read it now if it is unread and its text may matter."""
        if self.known is None and self.reader is not None and may_matter(self.reader.text(self)):
            self.known = self.reader.read(self)


@dataclass
class ClassCode:
    """A class; `setters`: the methods that set an attribute on self, of those that were read."""

    name: str
    place: int
    bases: list[Expression]
    keywords: list[CallArgument]
    decorators: list[Expression]
    body: Block = field(default_factory=list)
    parent: int | None = None
    index: int = -1
    methods: list[int] = field(default_factory=list)
    setters: dict[str, list[int]] = field(default_factory=dict)


@dataclass
class ModuleSummary:
    """The summary of one module. `positions` are those of its places.

    `mentions` holds every identifier but those in functions that are pieces of their own;
    `pieces` reads these.
    """

    body: Block
    functions: list[FunctionCode]
    classes: list[ClassCode]
    mentions: list[str]
    positions: array[int] = field(default_factory=lambda: array("i"))
    pieces: Reader | None = field(default=None, repr=False, compare=False)

    def names_any(self, names: frozenset[str]) -> bool:
        """Return whether one of `names` is an identifier in the module."""
        if not names.isdisjoint(self.mentions):
            return True
        left_out = (function for function in self.functions if function.rows is not None)
        return any(function.names_any(names) for function in left_out)

    def functions_around(self, place: int) -> list[FunctionCode]:
        """Return the functions with bodies in the piece that holds `place`, in source order."""
        piece = place // PIECE
        return [
            function
            for function in self.functions
            if piece == (function.place // PIECE if function.rows is None else function.index + 1)
        ]

    def setters(self, owner: ClassCode, name: str) -> list[int]:
        """Return the methods of `owner` that set `self.name`, in source order."""
        for index in owner.methods:
            self.functions[index].read_if(lambda text: may_set_attribute(name, text))
        return sorted(owner.setters.get(name, []))
