"""The summaries of modules, read from the outside in: what is around the bodies first.

Many functions of a program are never entered. CPython's parser reads the whole file; what is
around the bodies is lowered first, and each large body when it is asked for. Places are numbered
piece by piece, and those of a body are relative to its first row: an edit elsewhere moves a body,
and changes nothing in it. `Store` has the summaries of a program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tpulint.finding import Finding, Location, Span
from tpulint.notebook import is_unfinished
from tpulint.source import Source
from tpulint.syntax import ir
from tpulint.syntax.ir import Rows
from tpulint.syntax.lowering import LexicalScope, Lowering
from tpulint.syntax.parse import BLOCKS, SyntaxProblem, lines_of, parse

MIN_LAZY_ROWS = 3  # rows: a shorter body is read at once
HEADER = "def _():\n"  # before a body that is parsed by itself


def outermost(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions that are in no other function, in source order."""
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
            continue
        for name in reversed(BLOCKS):
            stack += reversed(getattr(node, name, ()))


def body_of(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> Rows | None:
    """Return the rows of the body, where it is large and has its rows to itself; else None."""
    start, end = node.body[0], node.body[-1]
    first = min([start.lineno, *(e.lineno for e in getattr(start, "decorator_list", []))])
    last, column = end.end_lineno or 0, end.end_col_offset or 0
    indent = lines[first - 1][: start.col_offset]
    is_continued = lines[last - 1].rstrip("\r\n").endswith("\\")
    if last - first + 1 < MIN_LAZY_ROWS or indent.strip(" \t") or is_continued:
        return None
    return first, last, column


def summarize(text: str) -> ir.ModuleSummary:
    """Return the summary of `text`, its large bodies left for later.

    Raises:
        SyntaxProblem: the running Python cannot parse it.
    """
    tree = parse(text)
    lines = lines_of(text)
    functions = outermost(tree.body)
    large = {function: rows for function in functions if (rows := body_of(function, lines))}
    walk = Lowering(large)
    body = walk.block(tree.body)
    mentions = sorted(walk.scopes[0].mentions)
    facts = ir.ModuleSummary(body, walk.functions, walk.classes, mentions, walk.positions)
    bodies = {}
    for index, node in walk.unread.items():
        facts.functions[index].rows, facts.functions[index].known = large[node], None
        bodies[index] = node.body
    facts.pieces = Pieces(facts, lines, bodies)
    return facts


class Pieces:
    """The bodies of one module that were left for later, and the ranges of all places.

    `lines` are the rows of its text. `bodies` are the bodies as CPython's tree has them, by the
    index of the function.
    """

    def __init__(
        self, facts: ir.ModuleSummary, lines: list[str], bodies: dict[int, list[ast.stmt]]
    ) -> None:
        self._facts = facts
        self._bodies = bodies
        self._lines = lines
        self._is_ascii = all(map(str.isascii, lines))
        for function in facts.functions:
            if function.rows is not None:
                function.reader = self

    def text(self, function: ir.FunctionCode) -> str:
        """Return the body of `function` as it is written."""
        assert function.rows is not None
        first, last, _ = function.rows
        return "".join(self._lines[first - 1 : last])

    def release(self) -> None:
        """Drop the trees, which are large; a body that is read later is parsed again."""
        self._bodies.clear()

    def read(self, function: ir.FunctionCode) -> ir.FunctionBody:
        """Return the inside of `function`; what it defines is added to the module's summary."""
        assert function.rows is not None
        body, first = self._bodies.pop(function.index, None), function.rows[0]
        if body is None:
            (header,) = outermost(parse(HEADER + self.text(function)).body)
            body, first = header.body, 2
        walk = Lowering()
        walk.functions, walk.classes = self._facts.functions, self._facts.classes
        walk.piece, walk.row_offset = function.index + 1, first
        walk.depth = 1
        if function.class_index is not None:
            walk.scopes.append(LexicalScope("class", function.class_index))
        walk.scopes.append(walk.scope_of(function))
        walk.finish_function(function, walk.block(body))
        assert function.known is not None
        function.known.positions = walk.positions
        return function.known

    def range(self, place: int) -> tuple[Location, Location]:
        """Return start and exclusive end of `place`; the file's first character if it has none."""
        if place < 0:
            return (Location(1, 1), Location(1, 1))
        piece, index = divmod(place, ir.PIECE)
        positions, first = self._facts.positions, 0  # and the row that they count from
        if piece:
            function = self._facts.functions[piece - 1]
            assert function.inside.positions is not None
            assert function.rows is not None
            positions, first = function.inside.positions, function.rows[0]
        row, column, end_row, end_column = positions[index : index + 4]
        return (self._location(row + first, column), self._location(end_row + first, end_column))

    def _location(self, row: int, offset: int) -> Location:
        if not self._is_ascii:  # CPython counts bytes of UTF-8
            row_bytes = self._lines[row - 1].encode()[:offset]
            offset = len(row_bytes.decode("utf-8", "ignore"))
        return Location(row, offset + 1)


class Store:
    """The summaries of modules; what cannot be parsed, and is meant to be, is a TPU001 finding.

    In a process that lives on, it keeps the summary of each file that stays. They are kept by file,
    not by content: to the interpreter, two files with one text are two.
    """

    def __init__(self) -> None:
        self._summaries: dict[str, tuple[str, ir.ModuleSummary]] = {}  # with the texts
        self.findings: list[Finding] = []

    def begin(self) -> None:
        """Begin the next reading."""
        self.findings = []

    def one(self, source: Source) -> ir.ModuleSummary | None:
        """Return the summary of a module that was imported; no finding where it has none."""
        try:
            return self._summarized(source)
        except SyntaxProblem:
            return None

    def many(self, sources: list[Source]) -> Iterator[tuple[Source, ir.ModuleSummary | None]]:
        """Yield the summaries of `sources`, in order; None where there is a finding instead."""
        for source in sources:
            try:
                facts = self._summarized(source)
            except SyntaxProblem as problem:
                if not is_unfinished(source.text, problem.row):
                    place = Location(problem.row, problem.column)
                    span = Span(source.filename, place, place)
                    self.findings.append(Finding("TPU001", problem.reason, span))
                yield source, None
            else:
                yield source, facts

    def _summarized(self, source: Source) -> ir.ModuleSummary:
        before, facts = self._summaries.get(source.filename, ("", None))
        if facts is None or source.text != before:
            facts = summarize(source.text)
            self._summaries[source.filename] = (source.text, facts)
        return facts

    def release(self) -> None:
        """Drop the trees of what was read: few functions will be read that were not."""
        for _, facts in self._summaries.values():
            if facts.pieces is not None:
                facts.pieces.release()
