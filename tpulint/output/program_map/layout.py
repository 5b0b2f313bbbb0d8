"""Coordinates for a computation's map: two lanes, variables below them, cycles around both.

In a wide picture a call and its host cluster are side by side; in a narrow one the cluster is below
the call.
"""

from __future__ import annotations

from tpulint.finding import Certainty
from tpulint.output.context import RenderContext
from tpulint.output.program_map.columns import CYCLES, RAIL, columns_for
from tpulint.output.program_map.drawing import LEADING, Arrow, Drawing, Said, Words, boxed
from tpulint.output.program_map.lane_boxes import LaneBoxes
from tpulint.output.program_map.model import ComputationMap
from tpulint.output.program_map.rows import place
from tpulint.output.program_map.variable_rows import VariableRows


def drawing(drawn: ComputationMap, context: RenderContext, *, narrow: bool = False) -> Drawing:
    """Return the picture of a computation."""
    return _Layout(drawn, context, narrow).finished()


class _Layout:
    def __init__(self, drawn: ComputationMap, context: RenderContext, narrow: bool) -> None:
        self.drawn = drawn
        self.context = context
        self.columns = columns_for(drawn, narrow)
        self.made = Drawing(self.columns.width, title=drawn.title)
        self.lanes = LaneBoxes(drawn, context, self.columns, self.made)
        self.lanes.draw()
        self.variables = VariableRows(drawn, context, self.columns, self.made, self.lanes.y)
        self.variables.draw()
        self.y = self.variables.y

    def finished(self) -> Drawing:
        for number, _ in enumerate(self.drawn.cycles):
            self.cycle(number)
        self.captions()
        self.made.height = self.y + 8
        return self.made

    def cycle(self, number: int) -> None:
        """The legs that run around the lanes: the host wants the variable, the device holds it."""
        cycle = self.drawn.cycles[number]
        held = self.variables.sides.get(cycle.variable)
        inset = 7.0 + RAIL * min(number, CYCLES - 1)
        style = "alarm" if cycle.certainty is Certainty.DEFINITE else "alarm possible"
        for leg, wait in enumerate(cycle.waits, 1):
            source, target = self.lanes.boxes.get(wait.source), self.lanes.boxes.get(wait.target)
            if held is None:
                continue
            if source is not None and wait.target == cycle.variable:
                goal, rail = held[1], self.made.width - inset
                ends = (source.right, source.middle), (goal.right, goal.middle)
            elif target is not None and wait.source == cycle.variable:
                goal, rail = held[0], inset
                ends = (goal.x, goal.middle), (target.x, target.middle)
            else:
                self.number(leg, wait.source)
                continue
            (_, first), (_, last) = ends
            points = (ends[0], (rail, first), (rail, last), ends[1])
            self.made.arrows.append(Arrow(points, style))
            if number == 0:
                x = rail + 3 if rail < self.made.width / 2 else rail - 10
                self.made.words.append(Words(x, (first + last) / 2, str(leg), "small alarm"))

    def number(self, leg: int, call: str) -> None:
        """Number the leg of a cycle that crosses from a call to its host cluster."""
        if call in self.lanes.sent:
            x, y = self.lanes.sent.pop(call)
            self.made.words.append(Words(x, y, str(leg), "small alarm"))

    def captions(self) -> None:
        """The cycles in words, and what is not in the picture."""
        lines: list[tuple[str, str]] = []
        for cycle in self.drawn.cycles:
            sure = "" if cycle.certainty is Certainty.DEFINITE else "possible "
            lines.append((f"{sure}deadlock: each of these waits for the next", "alarm title"))
            for number, wait in enumerate(cycle.waits, 1):
                where = place(wait.span, self.drawn.span, self.context)
                lines.append((f"{number} {wait.lane} {wait.text} ({where})", "alarm"))
        lines += [(each, "muted") for each in self.drawn.notes]
        lines += [(f"not shown: {each}", "muted") for each in self.drawn.left_out]
        for text, style in lines:
            width = self.columns.width - 2 * self.columns.edge + 20
            box = boxed([Said(text, style)], self.columns.edge - 10, self.y, width, "plain")
            self.made.words += box.words
            self.y += LEADING * len(box.words) + 2
        self.y += 6
