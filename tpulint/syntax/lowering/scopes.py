"""State of the walk of a module: ordinals, the functions and classes found, the scopes it is in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tpulint.syntax import ir

# Deeper expressions and blocks become `other`: no fault of the seam hides there,
# and the walk's own recursion stays bounded.
DEPTH_LIMIT = 120


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
        self.counts = [0] * ir.KINDS
        self.functions: list[ir.FunctionCode] = []
        self.classes: list[ir.ClassCode] = []
        self.scopes = [LexicalScope("module")]
        self.depth = 0
        self.in_string = 0
        self.truncated = False
        self.nodes: dict[int, Any] = {}
        self.keep_nodes = False
        self.piece = 0

    def place(self, kind: int, node: Any) -> int:
        """The next place of `kind`; -1 in an f-string (no positions there before Python 3.12)."""
        if self.in_string:
            return -1
        ordinal = self.counts[kind]
        self.counts[kind] = ordinal + 1
        found = self.piece * ir.PIECE + ordinal * ir.PLACE_BASE + kind
        if self.keep_nodes:
            self.nodes[found] = node
        return found

    def mention(self, name: str) -> None:
        self.scopes[-1].mentions.add(name)

    def bind(self, name: str) -> None:
        self.scopes[-1].bound.add(name)

    def enclosing(self, kind: str) -> int | None:
        """The index of the nearest enclosing scope of `kind`."""
        for scope in reversed(self.scopes):
            if scope.kind == kind:
                return scope.index
        return None

    def leave(self) -> LexicalScope:
        """End the innermost scope; what it mentions, its parent mentions too."""
        scope = self.scopes.pop()
        self.scopes[-1].mentions |= scope.mentions
        return scope
