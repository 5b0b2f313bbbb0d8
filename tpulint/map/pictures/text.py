"""The map for a terminal: two columns, time running down, then variables and cycles."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tpulint.finding import DEVICE_LANE, HOST_LANE, Span
from tpulint.map.pictures.model import ComputationMap, Cycle, MapNode, MapVariable, ProgramMap
from tpulint.map.pictures.rows import (
    BoxRow,
    alarmed,
    arrow_words,
    line_words,
    place,
    rows,
    title,
    touch_words,
    touches_of,
)
from tpulint.output.context import RenderContext
from tpulint.output.text import BOLD, CYAN, RED, YELLOW, columns, cut, paint, shown

GAP = " | "
TextCell = tuple[str, tuple[str, ...]]  # a line of a column, and its styles


def render(found: ProgramMap, context: RenderContext) -> str:
    """Return the map as text."""
    blocks = ["\n".join(_Text(each, context).lines()) + "\n" for each in found.computations]
    if found.left_out:
        more = "".join(f"  {shown(each)}\n" for each in found.left_out)
        blocks.append(f"not shown: {len(found.left_out)} more computations\n{more}")
    return "\n".join(blocks)


class _Text:
    def __init__(self, drawn: ComputationMap, context: RenderContext) -> None:
        self.drawn = drawn
        self.context = context
        self.half = (context.width - len(GAP)) // 2
        self.alarmed = alarmed(drawn)
        self.titles = {each.key: each for each in drawn.regions}

    def lines(self) -> Iterator[str]:
        drawn = self.drawn
        yield self.styled(f"{drawn.title} ({place(drawn.span, None, self.context)})", BOLD)
        yield from (f"  {each}" for each in drawn.notes)
        yield ""
        yield self.joined(("device", (BOLD, CYAN)), ("host", (BOLD, YELLOW)))
        yield "-+-".join("-" * self.half for _ in range(2))
        before: tuple[str, ...] = ()
        for row in rows(drawn):
            yield from self.borders(before, row.regions)
            before = row.regions
            yield from self.row(row)
        yield from self.borders(before, ())
        if drawn.variables:
            yield ""
            yield self.styled("variables", BOLD)
            for variable in drawn.variables:
                yield from self.variable(variable)
        for cycle in drawn.cycles:
            yield ""
            yield from self.cycle(cycle)
        if drawn.left_out:
            yield ""
            for each in drawn.left_out:
                yield from textwrap.wrap(f"not shown: {shown(each)}", self.context.width)

    def borders(self, before: tuple[str, ...], now: tuple[str, ...]) -> Iterator[str]:
        """Yield the lines where control flow begins and ends."""
        shared = 0
        while before[shared : shared + 1] == now[shared : shared + 1] and shared < len(now):
            shared += 1
        for depth in range(len(before) - 1, shared - 1, -1):
            yield f"{'  ' * depth}end of {self.titles[before[depth]].title}"
        for depth in range(shared, len(now)):
            region = self.titles[now[depth]]
            yield f"{'  ' * depth}{region.title} {self.place(region.span)}:"

    def row(self, row: BoxRow) -> Iterator[str]:
        indent = "  " * len(row.regions)
        left = self.box(row.device, indent)
        right = self.box(row.host, "")
        goes, comes = ("-->", "<--") if row.device is not None else ("<--", "-->")
        arrows: list[TextCell] = []
        for arrow, edge in ((goes, row.sends), (comes, row.returns)):
            if edge is not None:
                style = (RED,) if edge.alarm else ()
                words = arrow_words(edge) or [""]
                arrows += [(f"{indent}  {arrow} {each}", style) for each in words]
        if row.device is not None:
            left += arrows
        else:
            right += [(each.strip(), styles) for each, styles in arrows if len(each.strip()) > 3]
        left += [("", ())] * (len(right) - len(left))
        right += [("", ())] * (len(left) - len(right))
        for one, other in zip(left, right):
            yield self.joined(one, other)

    def box(self, node: MapNode | None, indent: str) -> list[TextCell]:
        if node is None:
            return []
        first = (RED, BOLD) if node.key in self.alarmed else (BOLD,)
        found: list[TextCell] = [(f"{indent}{title(node)} {self.place(node.span)}", first)]
        for line in node.lines:
            words = line_words(line, node, self.drawn.span, self.context)
            room = self.half - len(indent) - 4
            wrapped = textwrap.wrap(shown(words), room, subsequent_indent="  ")
            found += [(f"{indent}  {each}", ()) for each in wrapped]
        if node.more:
            found.append((f"{indent}  ... and {node.more} more", ()))
        return found

    def variable(self, variable: MapVariable) -> Iterator[str]:
        held = variable.key in self.alarmed
        name = f"  {variable.name} ({variable.sort}) {self.place(variable.span)}"
        yield self.styled(name.rstrip(), *((RED, BOLD) if held else ()))
        for lane in (DEVICE_LANE, HOST_LANE):
            words = [
                touch_words(each, self.drawn.span, self.context)
                for each in touches_of(variable, lane)
            ]
            if words:
                said = f"    {lane}: {', '.join(words)}"
                for part in textwrap.wrap(said, self.context.width, subsequent_indent="      "):
                    yield self.styled(part, *((RED,) if held else ()))
        if variable.more:
            yield f"    ... and {variable.more} more places"

    def cycle(self, cycle: Cycle) -> Iterator[str]:
        sure = "" if cycle.certainty.value == "definite" else "possible "
        yield self.styled(f"{sure}deadlock: each of these waits for the next", RED, BOLD)
        for number, wait in enumerate(cycle.waits, 1):
            where = self.place(wait.span)
            said = f"  {number} {wait.lane} {wait.text} ({where})"
            for part in textwrap.wrap(said, self.context.width, subsequent_indent="    "):
                yield self.styled(part, RED)
        yield self.styled("  and so back to 1", RED)

    def place(self, span: Span | None) -> str:
        return place(span, self.drawn.span, self.context)

    def joined(self, left: TextCell, right: TextCell) -> str:
        cells = []
        for text, styles in (left, right):
            fits = cut(shown(text), self.half)
            padding = " " * (self.half - columns(fits))
            cells.append((self.styled(fits, *styles) if fits else "") + padding)
        return GAP.join(cells).rstrip()

    def styled(self, text: str, *styles: str) -> str:
        text = shown(text)
        return paint(text, *styles) if self.context.color and styles else text
