"""The concrete syntax tree of a file in which something is reported: its comments and its fixes.

It loads libcst, which takes 0.15 s: import it in functions that need a comment or a fix, so that
a check that reports nothing does not.
"""

from __future__ import annotations

import ast
import bisect
import difflib
import functools
import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import libcst as cst
from libcst.metadata import CodePosition, CodeRange, MetadataWrapper, PositionProvider

from tpulint.finding import Edit, Location, Span
from tpulint.source import LINE_END
from tpulint.syntax.parse import SyntaxProblem, lines_of, nests_deeply, parse

Edits = tuple[Edit, ...]
Node = TypeVar("Node", bound=cst.CSTNode)
Value = TypeVar("Value", bound=cst.BaseExpression)
Code = cst.BaseExpression | Sequence[cst.BaseStatement]
WORD = re.compile(r"\w+|[ \t]+|\r\n|\W")
LONG = 1_000  # characters: difflib's time grows as the square of the words
TREES = 8  # a file of 4,000 rows takes about 75 MiB
# What may go on in the next row without being in brackets: a backslash is in the blanks.
CONTINUING = (cst.SimpleString, cst.FormattedString, cst.SimpleWhitespace)
BLOCKS = (cst.BaseCompoundStatement, cst.ExceptHandler, cst.ExceptStarHandler)
REPORTABLE = (cst.BaseExpression, cst.BaseSmallStatement, cst.MatchPattern, *BLOCKS)


@functools.lru_cache(TREES)
def tree_of(text: str) -> SourceTree | None:
    """Return the tree of a text; None where CPython or libcst cannot parse it."""
    try:
        if nests_deeply(parse(text), text):
            return None
        return SourceTree(text, cst.parse_module(text))
    except (SyntaxProblem, cst.ParserSyntaxError, RecursionError):
        return None


@functools.lru_cache(TREES)
def statement_rows(text: str) -> list[tuple[int, int]]:
    """Return the first and last rows of the statements of a module, in classes those inside."""
    try:
        body = parse(text).body
    except SyntaxProblem:
        return []
    nodes = [
        part for node in body for part in (node.body if isinstance(node, ast.ClassDef) else [node])
    ]
    return [(first_row(node), node.end_lineno or 0) for node in nodes]


def first_row(node: ast.stmt) -> int:
    """Return the first row of a statement, that of its first decorator where it has one."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def statement_around(text: str, span: Span) -> str | None:
    """Return a text with nothing but the statement around `span`, in its own rows.

    libcst takes as long for a thousand rows as the analysis does. A string fills the rows above,
    and a statement of a class stands under an `if`. None where other statements share its rows.
    """
    start, end = span.start.row, span.end.row
    around = [rows for rows in statement_rows(text) if rows[0] <= end and start <= rows[1]]
    if len(around) != 1 or not around[0][0] <= start <= end <= around[0][1]:
        return None
    ((first, last),) = around
    lines = lines_of(text)
    is_indented = lines[first - 1][:1] in (" ", "\t")
    ending = LINE_END.search(text)
    newline = "\n" if ending is None else ending.group()
    above = first - 1 - is_indented
    filled = f'"""{newline * (above - 1)}"""{newline}' if above else ""
    header = f"if True:{newline}" if is_indented else ""
    return "".join([filled, header, *lines[first - 1 : last]])


class NamedEdits(NamedTuple):
    """Edits, and the word for the message of the fix that they found in the file."""

    word: str
    edits: Edits


Changed = Edits | NamedEdits | None  # None where the text is too unusual for the change
TreeChange = TypeVar("TreeChange", bound=Callable[..., Changed])
CHANGES: dict[str, Callable[..., Changed]] = {}
WITHIN_STATEMENTS: set[str] = set()  # the names of those that need one statement only


def tree_change(function: TreeChange) -> TreeChange:
    """Make a function known by its name: a fix names it, as a cache and a process can hold that."""
    CHANGES[function.__name__] = function
    return function


def expression_change(function: TreeChange) -> TreeChange:
    """Make such a function known that looks at nothing but the statement around the place."""
    WITHIN_STATEMENTS.add(function.__name__)
    return tree_change(function)


def change_at(
    kind: type[Value],
) -> Callable[[Callable[..., cst.BaseExpression | None]], Callable[..., Edits | None]]:
    """Make a function known that makes another expression of one, which is of this kind.

    It takes the expression and the arguments of the fix. The fix calls it with the tree and the
    place of the expression first.
    """

    def enter(function: Callable[..., cst.BaseExpression | None]) -> Callable[..., Edits | None]:
        @functools.wraps(function)
        def change(tree: SourceTree, span: Span, *arguments: object) -> Edits | None:
            return replaced(tree, span, kind, lambda node: function(node, *arguments))

        return expression_change(change)

    return enter


def replaced(
    tree: SourceTree,
    span: Span,
    kind: type[Value],
    change: Callable[[Value], cst.BaseExpression | None],
) -> Edits | None:
    """Return the edits that make of the expression at `span` what `change` makes of it.

    Brackets around the expression stay where they are. None where there is no expression of this
    kind, or `change` returns None.
    """
    node = tree.at(span, kind)
    if node is None:
        return None
    has_own = isinstance(node, (cst.Tuple, cst.GeneratorExp))  # its brackets are a part of it
    bare = node.with_changes(lpar=(), rpar=()) if node.lpar and not has_own else node
    new = change(bare)
    return None if new is None else tree.edits(tree.start(node), bare, new)


@dataclass(eq=False)
class SourceTree:
    """A module as libcst reads it."""

    text: str
    module: cst.Module

    @functools.cached_property
    def row_starts(self) -> list[int]:
        return [0, *(end.end() for end in LINE_END.finditer(self.text))]

    @functools.cached_property
    def ranges(self) -> dict[cst.CSTNode, CodeRange]:
        wrapper = MetadataWrapper(self.module, unsafe_skip_copy=True)
        return dict(wrapper.resolve(PositionProvider))

    @functools.cached_property
    def _by_range(self) -> dict[tuple[Location, Location], list[cst.BaseExpression]]:
        nodes: dict[tuple[Location, Location], list[cst.BaseExpression]] = {}
        for node, place in self.ranges.items():
            value = node.value if isinstance(node, cst.Arg) else node
            if isinstance(value, cst.BaseExpression):
                key = location(place.start), location(place.end)
                nodes.setdefault(key, []).append(value)
        return nodes

    def at(self, span: Span, kind: type[Value]) -> Value | None:
        """Return the expression of a kind at `span`, which may include its keyword."""
        nodes = self._by_range.get((span.start, span.end), ())
        return next((node for node in nodes if isinstance(node, kind)), None)

    def start(self, node: cst.CSTNode) -> Location:
        return location(self.ranges[node].start)

    def around(self, row: int, kind: type[Node]) -> list[Node]:
        """Return the nodes of a kind that have something on `row`."""
        return [
            node
            for node, place in self.ranges.items()
            if isinstance(node, kind) and place.start.line <= row <= place.end.line
        ]

    @functools.cached_property
    def _statements(self) -> list[tuple[Location, int]]:
        """Return the start of each statement, in order, with its last row."""
        kinds = (cst.SimpleStatementLine, cst.BaseCompoundStatement)
        return sorted(
            (location(place.start), place.end.line)
            for node, place in self.ranges.items()
            if isinstance(node, kinds)
        )

    def margin(self, place: Location) -> str:
        """Return the blanks before the statement that holds `place`."""
        row, column = place.row, 1
        # The nearest statement above may have ended: then one around it holds the place.
        after = bisect.bisect_right(self._statements, (place, sys.maxsize))
        for start, last_row in reversed(self._statements[:after]):
            if last_row >= place.row:
                row, column = start
                break
        begin = self.row_starts[row - 1]
        return self.text[begin : begin + column - 1]

    @functools.cached_property
    def comments(self) -> list[tuple[Location, str]]:
        """Return where each comment begins, and its text."""
        return [
            (location(place.start), node.value)
            for node, place in self.ranges.items()
            if isinstance(node, cst.Comment)
        ]

    @functools.cached_property
    def last_rows(self) -> dict[int, int]:
        """Return each row that a backslash or a string continues, with the last row of these."""
        rows = sorted(
            (place.start.line, place.end.line)
            for node, place in self.ranges.items()
            if isinstance(node, CONTINUING) and place.start.line < place.end.line
        )
        last_rows: dict[int, int] = {}
        # From the end of the file on: the last row of one may be continued by the next.
        for first, last in reversed(rows):
            last_rows.update(dict.fromkeys(range(first, last), last_rows.get(last, last)))
        return last_rows

    def is_bare(self, rows: Collection[int]) -> bool:
        """Return whether nothing can be reported on these rows, whatever the program does.

        A finding is at a call, a name that is read, an import or a definition, so a row that is
        empty or only gives a constant to names has none.
        """
        return self._reportable_rows.isdisjoint(rows)

    @functools.cached_property
    def _reportable_rows(self) -> frozenset[int]:
        # How many of them begin in each row, less those that have ended in the one before: one
        # of a thousand rows costs no more than one of a single row.
        changes: Counter[int] = Counter()
        unread: list[cst.CSTNode] = [self.module]
        while unread:
            node = unread.pop()
            if gives_constant(node):
                continue
            if isinstance(node, REPORTABLE):
                place = self.ranges[node]
                # What is in the block of a statement is looked at by itself.
                end = place.start.line if isinstance(node, BLOCKS) else place.end.line
                changes[place.start.line] += 1
                changes[end + 1] -= 1
            unread += node.children
        numbers = range(max(changes, default=0) + 1)
        opened = itertools.accumulate(changes[row] for row in numbers)
        return frozenset(row for row, count in zip(numbers, opened) if count)

    def edits(self, start: Location, old: Code, new: Code) -> Edits | None:
        """Return the edits that turn the code at `start` into new code.

        None where a comment would be lost, or the tree does not give the text as it is written.
        """
        begin = self.row_starts[start.row - 1] + start.column - 1
        if isinstance(old, cst.BaseExpression):
            margin = self.margin(start)
        else:
            margin = self.text[self.row_starts[start.row - 1] : begin]
            begin -= len(margin)
        before, after = self._text(old, margin), self._text(new, margin)
        if not self.text.startswith(before, begin) or comments(old) != comments(new):
            return None
        return tuple(
            Edit(
                self._location(begin + first),
                self._location(begin + last),
                LINE_END.sub("\n", content),
            )
            for first, last, content in changes(before, after)
        )

    def _text(self, code: Code, margin: str) -> str:
        """Return the text of an expression or of statements behind `margin`."""
        newline = len(self.module.default_newline)
        if isinstance(code, cst.BaseExpression):
            line = cst.SimpleStatementLine([cst.Expr(code)])
            return self._text([line], margin)[len(margin) : -newline]
        if not margin:
            return "".join(map(self.module.code_for_node, code))
        block = cst.IndentedBlock(code, indent=margin)
        return self.module.code_for_node(block)[newline:]

    def _location(self, offset: int) -> Location:
        row = bisect.bisect_right(self.row_starts, offset)
        return Location(row, offset - self.row_starts[row - 1] + 1)


def location(position: CodePosition) -> Location:
    return Location(position.line, position.column + 1)


def gives_constant(node: cst.CSTNode) -> bool:
    """Return whether a node is `pass`, a constant, or `name = ... = constant`."""
    match node:
        case cst.Expr(value=value):
            return is_constant(value)
        case cst.Assign(targets=targets, value=value):
            return is_constant(value) and all(isinstance(x.target, cst.Name) for x in targets)
    return isinstance(node, (cst.Pass, cst.Break, cst.Continue))


def is_constant(value: cst.BaseExpression) -> bool:
    match value:
        case cst.ConcatenatedString(left=left, right=right):
            return is_constant(left) and is_constant(right)
        case cst.Name(value=name):
            return name in ("None", "True", "False")
    return isinstance(value, (cst.SimpleString, cst.BaseNumber, cst.Ellipsis))


def within(code: Code, kind: type[Node]) -> list[Node]:
    """Return the nodes of a kind in an expression or in statements."""
    nodes = [code] if isinstance(code, cst.BaseExpression) else code
    return [part for node in nodes for part in _parts(node) if isinstance(part, kind)]


def _parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield a node and all nodes inside it."""
    yield node
    for child in node.children:
        yield from _parts(child)


def comments(code: Code) -> list[str]:
    return [node.value for node in within(code, cst.Comment)]


def changes(old: str, new: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and new text of what differs: words, or rows where the text is long."""
    before, after = (
        text.splitlines(keepends=True) if len(old) > LONG else WORD.findall(text)
        for text in (old, new)
    )
    offsets = [0, *itertools.accumulate(map(len, before))]
    matcher = difflib.SequenceMatcher(None, before, after)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            yield offsets[start], offsets[end], "".join(after[new_start:new_end])
