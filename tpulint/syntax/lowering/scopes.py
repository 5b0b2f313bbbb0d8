"""State of the walk of a module: positions, the functions and classes found, its scopes."""

from __future__ import annotations

import ast
from array import array
from dataclasses import dataclass, field
from typing import TypeAlias

from tpulint.syntax import ir

# The nodes that have a position of their own.
PlacedNode: TypeAlias = "ast.expr | ast.stmt | ast.keyword"

# Deeper expressions and blocks become `other`: no fault of the seam hides there,
# and the walk's own recursion stays bounded.
DEPTH_LIMIT = 120
# Operators on one another, beyond which a sum is only its operands: generated code has thousands.
CHAIN_LIMIT = 1_000


@dataclass
class LexicalScope:
    """A module, class or function body that is being walked."""

    kind: str
    index: int | None = None
    mentions: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)
    generator: bool = False
    self_name: str | None = None


class Walk:
    """The state of one module's walk."""

    def __init__(self) -> None:
        self.positions = array("i")
        self.functions: list[ir.FunctionCode] = []
        self.classes: list[ir.ClassCode] = []
        self.scopes = [LexicalScope("module")]
        self.depth = 0
        self.in_string = 0
        self.piece = 0
        self.row_offset = 0

    def place(self, node: PlacedNode) -> int:
        """Record the position of `node`; -1 in an f-string (wrong there before Python 3.12)."""
        if self.in_string:
            return -1
        place = self.piece * ir.PIECE + len(self.positions)
        offset = self.row_offset
        # The parser gives every node an end.
        end_row, end_column = node.end_lineno or 0, node.end_col_offset or 0
        self.positions.extend((node.lineno - offset, node.col_offset, end_row - offset, end_column))
        return place

    def mention(self, name: str) -> None:
        self.scopes[-1].mentions.add(name)

    def bind(self, name: str) -> None:
        self.scopes[-1].bound.add(name)

    def enclosing(self, kind: str) -> int | None:
        """Return the index of the nearest enclosing scope of `kind`."""
        for scope in reversed(self.scopes):
            if scope.kind == kind:
                return scope.index
        return None

    def leave(self) -> LexicalScope:
        """End the innermost scope; what it mentions, its parent mentions too."""
        scope = self.scopes.pop()
        self.scopes[-1].mentions |= scope.mentions
        return scope
