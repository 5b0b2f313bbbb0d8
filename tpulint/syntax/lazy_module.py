"""One module's pieces: the bodies that were left for later, and where everything stands."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType

from tpulint.finding import Location
from tpulint.syntax import ir
from tpulint.syntax.body_ranges import HEADER, lines_of, skeleton
from tpulint.syntax.deep_stack import deeply
from tpulint.syntax.positions import Positions, Range

NOTHING: Mapping[int, list[ast.stmt]] = MappingProxyType({})


def pieces_of(text: str, facts: ir.ModuleSummary) -> Pieces:
    """The pieces of `facts`, made once: they know what was read before, and what was refused."""
    if facts.pieces is None:
        facts.pieces = Pieces(text, facts)
    assert isinstance(facts.pieces, Pieces)
    return facts.pieces


class Pieces:
    """The bodies of one module that were left for later, and where everything stands.

    `lines` are the rows of `text`, where they are known. `bodies` are some of the bodies as
    CPython's tree has them, by the index of the function.
    """

    def __init__(
        self,
        text: str,
        facts: ir.ModuleSummary,
        lines: list[str] | None = None,
        bodies: Mapping[int, list[ast.stmt]] = NOTHING,
    ) -> None:
        self.problem: tuple[str, int, int] | None = None
        self.whole = text
        self._facts = facts
        self._bodies = dict(bodies)
        self._cuts = [each.rows for each in facts.functions if each.rows is not None]
        self._lines = (lines or lines_of(text)) if self._cuts else []
        self._positions: dict[int, Positions] = {}
        for each in facts.functions:
            if each.rows is not None:
                each.reader = self

    def text(self, function: ir.FunctionCode) -> str:
        """The body of `function` as it is written."""
        assert function.rows is not None
        first, last, _ = function.rows
        return "".join(self._lines[first - 1 : last])

    def release(self) -> None:
        """Drop the trees, which are large; a body that is read later is parsed again."""
        self._bodies.clear()

    def read(self, function: ir.FunctionCode) -> ir.FunctionBody:
        return deeply(lambda: self._read(function))

    def _read(self, function: ir.FunctionCode) -> ir.FunctionBody:
        from tpulint.syntax.function_body import inside

        body = self._bodies.pop(function.index, None)
        found = inside(self._facts, function, self.text(function), body)
        return self._refused() if found is None else found

    def _refused(self) -> ir.FunctionBody:
        """Nothing, for libcst does not take what CPython took; the module says why."""
        from tpulint.syntax.parse import SyntaxProblem, parse

        try:
            parse(self.whole)
        except SyntaxProblem as problem:
            self.problem = (problem.reason, problem.row, problem.column)
            return ir.FunctionBody([], [], [], False, [ir.UNCOUNTED])
        raise AssertionError("a body was cut wrongly")

    def range(self, place: int) -> Range:
        """Start and exclusive end of `place`; the file's first character where it has none."""
        if place < 0:
            return (Location(1, 1), Location(1, 1))
        number, local = divmod(place, ir.PIECE)
        if number not in self._positions:
            self._positions[number] = self._positions_of(number)
        start, end = self._positions[number].range(local)
        if number == 0:
            return (self._around(start), self._around(end))
        shift = self._first(number) - 2
        return (
            Location(start.row + shift, start.column),
            Location(end.row + shift, end.column),
        )

    def _positions_of(self, number: int) -> Positions:
        if number == 0:
            text = skeleton(self._lines, self._cuts) if self._cuts else self.whole
            return Positions(text, self._facts.counts)
        function = self._facts.functions[number - 1]
        return Positions(HEADER + self.text(function), function.inside.counts or [ir.UNCOUNTED])

    def _first(self, number: int) -> int:
        rows = self._facts.functions[number - 1].rows
        assert rows is not None
        return rows[0]

    def _around(self, found: Location) -> Location:
        """A place of the skeleton in the module; the end of `...` is the end of what it is for."""
        row = found.row
        for first, last, column in self._cuts:
            if row < first:
                break
            if row == first:
                return Location(last, column)
            row += last - first
        return Location(row, found.column)
