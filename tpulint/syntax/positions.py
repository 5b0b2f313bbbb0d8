"""Rows and columns of places, found only when a finding needs them.

libcst's own positions cost three times its parse. `ast` gives the same places in
the same source order for a tenth: the k-th call of one tree is the k-th of the
other. Where the counts do not agree, libcst's provider answers instead.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator, Sequence
from typing import Any

from tpulint.finding import Location
from tpulint.syntax import ir
from tpulint.syntax.deep_stack import deeply
from tpulint.syntax.light_nodes import LightNode, cst
from tpulint.syntax.python_tree import python_tree

Range = tuple[Location, Location]
# Row and column of the start, and those of the end, negative: so an outer node is before its first.
Corners = tuple[int, int, int, int]


class Positions:
    """The ranges of one module's places; `text` is parsed at the first question."""

    def __init__(self, text: str, counts: Sequence[int]) -> None:
        self._text = text
        self._counts = list(counts)
        self._lines: list[str] | None = None  # where columns are not bytes
        self._ordered: list[list[Corners]] | None = None
        self._by_place: dict[int, Range] | None = None

    def range(self, place: int) -> Range:
        """Start and exclusive end of `place`; the file's first character where it has none."""
        nowhere = (Location(1, 1), Location(1, 1))
        if place < 0:
            return nowhere
        if self._ordered is None and self._by_place is None:
            self._ordered = paired(self._text, self._counts)
            if self._ordered is None:
                self._by_place = deeply(lambda: provided(self._text))
            elif not self._text.isascii():
                self._lines = list(io.StringIO(self._text, newline=""))
        if self._ordered is not None:
            ordinal, kind = divmod(place, ir.PLACE_BASE)
            return _range(self._ordered[kind][ordinal], self._lines)
        assert self._by_place is not None
        return self._by_place.get(place, nowhere)


def paired(text: str, counts: list[int]) -> list[list[Corners]] | None:
    """Corners by kind and ordinal out of `ast`; None where the two trees differ."""
    tree = python_tree(text)
    if tree is None:
        return None
    found: list[list[Corners]] = [[] for _ in range(ir.KINDS)]
    for kind, node in _nodes(tree):
        end = (-node.end_lineno, -node.end_col_offset)
        found[kind].append((node.lineno, node.col_offset, *end))
    if [len(nodes) for nodes in found] != counts:
        return None
    for corners in found:
        corners.sort()
    return found


def _nodes(tree: ast.AST) -> Iterator[tuple[int, Any]]:
    """Nodes that have a place, each with its kind; f-strings and patterns are left closed."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.pattern):
            continue
        kind = _KINDS.get(type(node))
        if kind is not None and (kind != ir.KEYWORD or hasattr(node, "lineno")):
            yield kind, node
        if kind != ir.NAME and type(node) is not ast.JoinedStr:
            for field in node._fields:
                inner = getattr(node, field, None)
                if isinstance(inner, list):
                    stack += [each for each in inner if isinstance(each, ast.AST)]
                elif isinstance(inner, ast.AST) and inner._fields:
                    stack.append(inner)


def _range(corners: Corners, lines: list[str] | None) -> Range:
    row, start, last, end = corners[0], corners[1], -corners[2], -corners[3]
    if lines is not None:
        start = characters(lines[row - 1], start)
        end = characters(lines[last - 1], end)
    return (Location(row, start + 1), Location(last, end + 1))


def characters(line: str, offset: int) -> int:
    """`ast` counts UTF-8 bytes, findings count characters."""
    return len(line.encode("utf-8")[:offset].decode("utf-8", "ignore"))


def provided(text: str) -> dict[int, Range]:
    """Ranges by place out of libcst's position provider (slow, and always right)."""
    import libcst
    from libcst.metadata import MetadataWrapper, PositionProvider

    from tpulint.syntax.lower import lower_with_nodes
    from tpulint.syntax.tree import tree_of

    wrapper = MetadataWrapper(libcst.parse_module(text), unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    light = tree_of(text)
    _, nodes = lower_with_nodes(light)
    ranges = {id(each): positions[node] for each, node in twins(light, wrapper.module)}
    found = ((place, ranges[id(node)]) for place, node in nodes.items())
    return {
        place: (
            Location(each.start.line, each.start.column + 1),
            Location(each.end.line, each.end.column + 1),
        )
        for place, each in found
    }


def twins(light: object, node: object) -> Iterator[tuple[LightNode, cst.CSTNode]]:
    """Yield each light node of a tree with libcst's own of the same text."""
    import libcst

    stack = [(light, node)]
    while stack:
        light, node = stack.pop()
        if isinstance(light, tuple) and isinstance(node, Sequence):
            stack.extend(zip(light, node, strict=True))
        elif isinstance(light, LightNode) and isinstance(node, libcst.CSTNode):
            yield light, node
            stack.extend((inner, getattr(node, name)) for name, inner in vars(light).items())


_KINDS: dict[type, int] = {
    ast.Name: ir.NAME,
    ast.Attribute: ir.ATTRIBUTE,
    ast.Call: ir.CALL,
    ast.Lambda: ir.LAMBDA,
    ast.Subscript: ir.SUBSCRIPT,
    ast.keyword: ir.KEYWORD,
    ast.Tuple: ir.DISPLAY,
    ast.List: ir.DISPLAY,
    ast.Set: ir.DISPLAY,
    ast.Dict: ir.DISPLAY,
    ast.ListComp: ir.COMPREHENSION,
    ast.SetComp: ir.COMPREHENSION,
    ast.DictComp: ir.COMPREHENSION,
    ast.GeneratorExp: ir.COMPREHENSION,
    ast.FunctionDef: ir.FUNCTION,
    ast.AsyncFunctionDef: ir.FUNCTION,
    ast.ClassDef: ir.CLASS,
    ast.Return: ir.RETURN,
    ast.If: ir.IF,
    ast.For: ir.FOR,
    ast.AsyncFor: ir.FOR,
    ast.While: ir.WHILE,
    ast.With: ir.WITH,
    ast.AsyncWith: ir.WITH,
    ast.Yield: ir.YIELD,
    ast.YieldFrom: ir.YIELD,
    ast.IfExp: ir.IFEXP,
}
