"""The boxes of both lanes row by row, the arrows between them, and the frames around them."""

from __future__ import annotations

from tpulint.output.context import RenderContext
from tpulint.output.program_map.columns import SPACE, Columns
from tpulint.output.program_map.drawing import (
    SMALL,
    Arrow,
    Box,
    Drawing,
    Said,
    Words,
    as_high,
    boxed,
    fitted,
)
from tpulint.output.program_map.model import ComputationMap, MapEdge, MapNode
from tpulint.output.program_map.rows import (
    BoxRow,
    alarmed,
    arrow_words,
    line_words,
    place,
    rows,
    title,
)

ROW = 13  # of words on an arrow


class LaneBoxes:
    """Draws the rows into `made`. boxes: by the node's key. sent: where arrows leave their calls.

    y: where the next row begins.
    """

    def __init__(
        self, drawn: ComputationMap, context: RenderContext, columns: Columns, made: Drawing
    ) -> None:
        self.drawn = drawn
        self.context = context
        self.columns = columns
        self.made = made
        self.y = 12.0
        self.boxes: dict[str, Box] = {}
        self.sent: dict[str, tuple[float, float]] = {}
        self.alarmed = alarmed(drawn)
        self.titles = {each.key: each for each in drawn.regions}
        self.entering: list[tuple[Box, MapEdge]] = []
        self.open: list[tuple[str, float]] = []
        self.last: Box | None = None

    def draw(self) -> None:
        self.heading()
        for row in rows(self.drawn):
            self.borders(row.regions)
            self.row(row)
        self.borders(())

    def heading(self) -> None:
        columns = self.columns
        self.y += 8
        self.say(columns.edge, self.y, "device (compiled by XLA)", "device")
        right = columns.host + columns.box
        self.say(right if columns.narrow else columns.host, self.y, "host", "host", columns.narrow)
        self.y += 14

    def say(self, x: float, y: float, text: str, style: str, from_right: bool = False) -> None:
        self.made.words.append(Words(x, y, text, style, "end" if from_right else "start"))

    def borders(self, now: tuple[str, ...]) -> None:
        """Close the frames of regions that end here, and open those that begin."""
        kept = 0
        while kept < min(len(self.open), len(now)) and self.open[kept][0] == now[kept]:
            kept += 1
        while len(self.open) > kept:
            _, top = self.open.pop()
            x = self.columns.edge - self.columns.nest * (self.columns.depth - len(self.open))
            bottom = self.y - SPACE + 10
            self.made.frames.append(
                Box(x, top, self.columns.width - 2 * x, bottom - top, "region", ())
            )
            self.y += 8
        for key in now[kept:]:
            region = self.titles[key]
            self.open.append((key, self.y - 6))
            where = place(region.span, self.drawn.span, self.context)
            text, full = fitted(f"{region.title} {where}", self.columns.width - 60)
            self.made.words.append(
                Words(self.columns.edge + 4, self.y + 10, text, "muted", full=full)
            )
            self.y += 24

    def row(self, row: BoxRow) -> None:
        columns = self.columns
        if row.device is None:
            if row.host is not None:
                self.entry(row.host, row.sends)
            return
        device = self.box(row.device, columns.edge, self.y)
        if row.host is None:
            self.put(row.device, device)
            self.y = device.bottom + SPACE
        elif columns.narrow:
            self.below(row, device)
        else:
            self.beside(row, device)
        self.then(self.boxes[row.device.key])

    def box(self, node: MapNode, x: float, y: float) -> Box:
        style = f"{node.lane} {node.kind}" + (" alarm" if node.key in self.alarmed else "")
        where = place(node.span, self.drawn.span, self.context)
        said = [Said(f"{title(node)} {where}".rstrip(), "title", node.span)]
        for line in node.lines:
            words = line_words(line, node, self.drawn.span, self.context)
            said.append(Said(words, "", line.span))
        if node.more:
            said.append(Said(f"... and {node.more} more", "muted"))
        return boxed(said, x, y, self.columns.box, style, node.span)

    def put(self, node: MapNode, box: Box) -> None:
        self.boxes[node.key] = box
        self.made.boxes.append(box)

    def entry(self, node: MapNode, edge: MapEdge | None) -> None:
        """A box of the host alone; where its tensors enter the device, the arrow comes later."""
        box = self.box(node, self.columns.host, self.y)
        self.put(node, box)
        self.y = box.bottom + SPACE
        if edge is not None:
            self.entering.append((box, edge))
            if not self.columns.narrow:
                label = arrow_words(edge)
                self.y = max(self.y, box.y + ROW * len(label) + 2 * SPACE)
                self.label(label, box.x - 12, box.y + 12 + ROW * len(label) - 6, edge.alarm, "end")

    def then(self, device: Box) -> None:
        """Lead the device's time from the box before to this one, and inputs into the first."""
        columns = self.columns
        x = columns.edge + 14 if columns.narrow else columns.edge + columns.box / 2
        if self.last is not None:
            self.made.arrows.append(Arrow(((x, self.last.bottom), (x, device.y)), "time"))
        for number, (box, edge) in enumerate(self.entering):
            at = columns.edge + 14 if columns.narrow else columns.edge + 60 + 40 * number
            y = box.y + 12 + (0 if columns.narrow else ROW * len(arrow_words(edge)))
            self.made.arrows.append(Arrow(((box.x, y), (at, y), (at, device.y)), "sends"))
        self.entering = []
        self.last = device

    def beside(self, row: BoxRow, device: Box) -> None:
        """A call and its host cluster, with what crosses between them."""
        assert row.device is not None and row.host is not None
        host = self.box(row.host, self.columns.host, self.y)
        sends = self.arrow_label(row.sends)
        returns = self.arrow_label(row.returns)
        there = self.y + 12 + ROW * len(sends)
        back = there + 14 + ROW * len(returns)
        lowest = back if row.returns is not None else there
        height = max(device.height, host.height, lowest - self.y + 10)
        self.put(row.device, as_high(device, height))
        self.put(row.host, as_high(host, height))
        center = (device.right + host.x) / 2
        for edge, words, y in ((row.sends, sends, there), (row.returns, returns, back)):
            if edge is not None:
                points = ((device.right, y), (host.x, y))
                self.arrow(edge, points if edge is row.sends else points[::-1])
                self.label(words, center, y - 5, edge.alarm, "middle")
        self.sent[row.device.key] = (device.right + 6, there - 5)
        self.y += height + SPACE

    def below(self, row: BoxRow, device: Box) -> None:
        assert row.device is not None and row.host is not None
        sends, returns = self.arrow_label(row.sends), self.arrow_label(row.returns)
        self.put(row.device, device)
        between = ROW * (len(sends) + len(returns)) + 24
        host = self.box(row.host, self.columns.host, device.bottom + between)
        self.put(row.host, host)
        x = self.columns.host + 20
        for edge, at in ((row.sends, x), (row.returns, x + 18)):
            if edge is not None:
                points = ((at, device.bottom), (at, host.y))
                self.arrow(edge, points if edge is row.sends else points[::-1])
        self.sent[row.device.key] = (x - 12, device.bottom + 16)
        y = device.bottom + 12 + ROW * len(sends)
        alarm = row.sends is not None and row.sends.alarm
        down, up = "\N{DOWNWARDS ARROW}", "\N{UPWARDS ARROW}"
        self.label([f"{down} {each}" for each in sends], x + 28, y, alarm, "start")
        y += ROW * len(returns)
        self.label([f"{up} {each}" for each in returns], x + 28, y, False, "start")
        self.y = host.bottom + SPACE

    def arrow(self, edge: MapEdge, points: tuple[tuple[float, float], ...]) -> None:
        self.made.arrows.append(Arrow(points, "alarm" if edge.alarm else edge.kind))

    def arrow_label(self, edge: MapEdge | None) -> list[str]:
        return arrow_words(edge) if edge is not None else []

    def label(self, words: list[str], x: float, y: float, alarm: bool, anchor: str) -> None:
        """Words above `y`, the last line nearest."""
        columns = self.columns
        wide = columns.width - columns.edge - x if columns.narrow else columns.gap - 20
        for number, each in enumerate(reversed(words)):
            text, full = fitted(each, wide, SMALL)
            style = "small alarm" if alarm else "small"
            self.made.words.append(Words(x, y - ROW * number, text, style, anchor, full))
