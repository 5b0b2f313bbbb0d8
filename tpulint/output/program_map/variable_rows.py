"""The variables of a picture, and beside each what the lanes do with it."""

from __future__ import annotations

from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.output.context import RenderContext
from tpulint.output.program_map.columns import Columns
from tpulint.output.program_map.drawing import (
    PAD,
    Arrow,
    Box,
    Drawing,
    Said,
    Words,
    as_high,
    boxed,
    width_of,
)
from tpulint.output.program_map.model import ComputationMap, MapVariable
from tpulint.output.program_map.rows import alarmed, place, touch_words, touches_of


class VariableRows:
    """Draws the variables into `made` from `y` on.

    sides: the boxes at whose outer edges the device and the host come to a variable, by its key.
    """

    def __init__(
        self,
        drawn: ComputationMap,
        context: RenderContext,
        columns: Columns,
        made: Drawing,
        y: float,
    ) -> None:
        self.drawn = drawn
        self.context = context
        self.columns = columns
        self.made = made
        self.y = y
        self.alarmed = alarmed(drawn)
        self.sides: dict[str, tuple[Box, Box]] = {}

    def draw(self) -> None:
        if not self.drawn.variables:
            return
        self.y += 6
        self.made.words.append(Words(self.columns.edge, self.y + 10, "variables", "title"))
        self.y += 24
        for variable in self.drawn.variables:
            (self.stacked if self.columns.narrow else self.spread)(variable)

    def name_of(self, variable: MapVariable) -> list[Said]:
        where = place(variable.span, self.drawn.span, self.context)
        sort = f"{variable.sort} {where}".rstrip()
        more = [Said(f"and {variable.more} more places", "muted")] if variable.more else []
        return [Said(variable.name, "title", variable.span), Said(sort, "muted"), *more]

    def touched(self, variable: MapVariable, lane: str, before: str = "") -> list[Said]:
        waits = {
            wait.span: wait.text
            for cycle in self.drawn.cycles
            if cycle.variable == variable.key
            for wait in cycle.waits
            if wait.lane == lane and variable.key in (wait.source, wait.target)
        }
        return [
            Said(
                before + touch_words(each, self.drawn.span, self.context),
                "alarm" if each.span in waits else "",
                each.span,
            )
            for each in touches_of(variable, lane)
        ]

    def spread(self, variable: MapVariable) -> None:
        """The variable between the lanes, and beside it what each of them does with it."""
        columns, y = self.columns, self.y
        alarm = " alarm" if variable.key in self.alarmed else ""
        inset = 24.0
        name = boxed(
            self.name_of(variable),
            columns.edge + columns.box + inset,
            y,
            columns.gap - 2 * inset,
            f"variable{alarm}",
            variable.span,
        )
        sides: list[Box | None] = []
        for lane in (DEVICE_LANE, HOST_LANE):
            said = self.touched(variable, lane)
            wide = min(columns.box, 2 * PAD + width_of(said))
            x = columns.host if lane == HOST_LANE else columns.edge + columns.box - wide
            sides.append(boxed(said, x, y, wide, f"{lane} touches{alarm}") if said else None)
        height = max(each.height for each in (name, *sides) if each is not None)
        name = as_high(name, height)
        self.made.boxes.append(name)
        ends = []
        for lane, side in zip((DEVICE_LANE, HOST_LANE), sides):
            side = as_high(side, height) if side is not None else name
            ends.append(side)
            if side is not name:
                self.made.boxes.append(side)
                self.made.arrows.append(self.touching(variable, lane, side, name))
        self.sides[variable.key] = (ends[0], ends[1])
        self.y += height + 12

    def touching(self, variable: MapVariable, lane: str, side: Box, name: Box) -> Arrow:
        """Lead what is written to the variable, and what is read from it; a cycle goes around."""
        modes = {each.mode for each in touches_of(variable, lane)}
        heads = "end" if modes == {"write"} else "start" if modes == {"read"} else "both"
        if variable.key in self.alarmed:
            heads = "start" if lane == DEVICE_LANE else "end"
        inward = (side.right, name.x) if lane == DEVICE_LANE else (side.x, name.right)
        points = tuple((x, side.middle) for x in inward)
        return Arrow(points, "alarm" if variable.key in self.alarmed else "touch", heads)

    def stacked(self, variable: MapVariable) -> None:
        said = self.name_of(variable)
        for lane in (DEVICE_LANE, HOST_LANE):
            said += self.touched(variable, lane, f"{lane}: ")
        alarm = " alarm" if variable.key in self.alarmed else ""
        width = self.columns.width - 2 * self.columns.edge
        box = boxed(said, self.columns.edge, self.y, width, f"variable{alarm}", variable.span)
        self.made.boxes.append(box)
        self.sides[variable.key] = (box, box)
        self.y = box.bottom + 12
