"""Coordinates for a computation's map: two lanes, variables below them, cycles around both."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field, replace

from tpulint.finding import DEVICE_LANE, HOST_LANE, Certainty, Span
from tpulint.map.pictures import model
from tpulint.output.context import RenderContext
from tpulint.output.text import columns as columns_of
from tpulint.output.text import cut, shown

# The parts of a drawn picture: boxes, arrows, frames and words, with their coordinates.

SIZE, SMALL = 12, 11  # of the letters, in pixels
ADVANCE = 0.61  # of a letter, in its size: a little more than any common monospaced font has
LEADING = 16  # from line to line
PAD = 10  # inside a box
ROWS = 3  # of a line in a box


@dataclass(frozen=True)
class Words:
    """A line of text. full: what it says where it was cut, else empty."""

    x: float
    y: float
    text: str
    style: str = ""
    anchor: str = "start"
    full: str = ""
    span: Span | None = None


@dataclass(frozen=True)
class Box:
    """A rectangle with lines of text; `span` is where it leads."""

    x: float
    y: float
    width: float
    height: float
    style: str
    words: tuple[Words, ...]
    span: Span | None = None

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True)
class Arrow:
    """A line from point to point. ends: heads at "end", "start", "both" or "none"."""

    points: tuple[tuple[float, float], ...]
    style: str = ""
    ends: str = "end"


@dataclass
class Drawing:
    """A picture; what is drawn first is below."""

    width: float
    height: float = 0.0
    title: str = ""
    frames: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)


def letters(width: float, size: int = SIZE) -> int:
    return max(int(width / (size * ADVANCE)), 1)


def fitted(text: str, width: float, size: int = SIZE) -> tuple[str, str]:
    """Return the text as far as it fits, and the whole of it where it does not."""
    text = shown(text)
    fits = cut(text, letters(width, size))
    return fits, text if fits != text else ""


def boxed(
    lines: list[model.Said], x: float, y: float, width: float, style: str, span: Span | None = None
) -> Box:
    """Return a box as high as its lines, each in ROWS rows at most."""
    words = []
    top = y + PAD + SIZE - 2
    for line in lines:
        for row, full in _rows(line.text, width - 2 * PAD):
            words.append(Words(x + PAD, top, row, line.style, full=full, span=line.span))
            top += LEADING
    return Box(x, y, width, 2 * PAD + LEADING * len(words) - 4, style, tuple(words), span)


def _rows(text: str, width: float) -> list[tuple[str, str]]:
    """Return the rows of a line; where some are cut away, the last one has the whole with it."""
    most, text = letters(width), shown(text)
    if columns_of(text) <= most:
        return [(text, "")]
    rows = textwrap.wrap(text, most, subsequent_indent="  ")
    if len(rows) <= ROWS and all(columns_of(row) <= most for row in rows):
        return [(row, "") for row in rows]
    last = " ".join([rows[ROWS - 1], *(row.strip() for row in rows[ROWS:])])
    shown_rows = [fitted(row, width)[0] for row in rows[: ROWS - 1]]
    return [*((shown_row, "") for shown_row in shown_rows), (fitted(last, width)[0], text)]


# The columns of a picture: where the boxes of a lane begin, and how wide they are.

SPACE = 22  # between rows
RAIL = 6  # from the line of a cycle to the next one
CYCLES = 3  # cycles with a line of their own
LANE_WIDTH, GAP = 370.0, 236.0  # the widths of a lane, and of the space between both
NARROW_WIDTH, NARROW_SHIFT = 364.0, 36  # of a narrow picture, and of the host's lane in it
ROW = 13  # of words on an arrow


def drawing(
    drawn: model.ComputationMap, context: RenderContext, *, narrow: bool = False
) -> Drawing:
    """Return the picture of a computation.

    In a wide picture a call and its host cluster are side by side; in a narrow one the cluster is
    below the call.
    """
    return _Layout(drawn, context, narrow).finished()


class _Layout:
    """Draws the boxes of both lanes row by row, the variables below them, the cycles around both.

    edge, host: the left edges of both lanes. lane_width: that of their boxes; in a narrow picture
    the lanes overlap. depth: the frames around the deepest box, nest: from one to the next.

    y: where the next row begins. boxes: by the node's key. sent: where arrows leave their calls.
    sides: the boxes at whose outer edges the device and the host come to a variable, by its key.
    """

    def __init__(self, drawn: model.ComputationMap, context: RenderContext, narrow: bool) -> None:
        self.drawn = drawn
        self.context = context
        self.narrow = narrow
        self.depth = max((len(node.regions) for node in drawn.nodes), default=0)
        self.nest = 4.0 if narrow else 8.0
        self.edge = 14.0 + self.nest * self.depth + RAIL * min(len(drawn.cycles), CYCLES)
        self.width = NARROW_WIDTH if narrow else 2 * self.edge + 2 * LANE_WIDTH + GAP
        self.lane_width = self.width - 2 * self.edge - NARROW_SHIFT if narrow else LANE_WIDTH
        self.host = self.edge + (NARROW_SHIFT if narrow else LANE_WIDTH + GAP)
        self.picture = Drawing(self.width, title=drawn.title)
        self.y = 20.0
        self.boxes: dict[str, Box] = {}
        self.sent: dict[str, tuple[float, float]] = {}
        self.sides: dict[str, tuple[Box, Box]] = {}
        self.entering: list[tuple[Box, model.MapEdge]] = []
        self.open: list[float] = []  # the tops of frames
        self.last: Box | None = None

    def finished(self) -> Drawing:
        self.write(self.edge, self.y, "device (compiled by XLA)", "device")
        if self.narrow:
            self.write(self.host + self.lane_width, self.y, "host", "host", "end")
        else:
            self.write(self.host, self.y, "host", "host")
        self.y += 14
        for ended, begun, row in model.in_regions(self.drawn, model.rows(self.drawn)):
            self.borders(ended, begun)
            if row is not None:
                self.row(row)
        if self.drawn.variables:
            self.write(self.edge, self.y + 16, "variables", "title")
            self.y += 30
        for variable in self.drawn.variables:
            (self.stacked if self.narrow else self.spread)(variable)
        for number, cycle in enumerate(self.drawn.cycles):
            self.cycle(number, cycle)
        self.captions()
        self.picture.height = self.y + 8
        return self.picture

    def write(
        self, x: float, y: float, text: str, style: str, anchor: str = "start", full: str = ""
    ) -> None:
        self.picture.words.append(Words(x, y, text, style, anchor, full))

    def borders(self, ended: int, begun: list[model.MapRegion]) -> None:
        """Close the frames of regions that end here, and open those that begin."""
        for _ in range(ended):
            top = self.open.pop()
            x = self.edge - self.nest * (self.depth - len(self.open))
            height = self.y - SPACE + 10 - top
            self.picture.frames.append(Box(x, top, self.width - 2 * x, height, "region", ()))
            self.y += 8
        for region in begun:
            self.open.append(self.y - 6)
            where = model.place(region.span, self.drawn.span, self.context)
            text, full = fitted(f"{region.title} {where}", self.width - 60)
            self.write(self.edge + 4, self.y + 10, text, "muted", full=full)
            self.y += 24

    def row(self, row: model.BoxRow) -> None:
        node, host = row.device, row.host
        if node is None:
            if host is not None:
                self.entry(host, row.sends)
            return
        device = self.box(node, self.edge, self.y)
        if host is None:
            self.put(node, device)
            self.y = device.bottom + SPACE
        else:
            (self.below if self.narrow else self.beside)(row, node, device, host)
        self.then(self.boxes[node.key])

    def box(self, node: model.MapNode, x: float, y: float) -> Box:
        style = f"{node.lane} {node.kind}" + (" alarm" if node.key in self.drawn.alarmed else "")
        lines = model.box_lines(node, self.drawn.span, self.context)
        return boxed(lines, x, y, self.lane_width, style, node.span)

    def put(self, node: model.MapNode, box: Box) -> None:
        self.boxes[node.key] = box
        self.picture.boxes.append(box)

    def entry(self, node: model.MapNode, edge: model.MapEdge | None) -> None:
        """Draw a box of the host alone.

        Where its tensors enter the device, the arrow comes later.
        """
        box = self.box(node, self.host, self.y)
        self.put(node, box)
        self.y = box.bottom + SPACE
        if edge is None:
            return
        self.entering.append((box, edge))
        if not self.narrow:
            label = model.arrow_words(edge)
            self.y = max(self.y, box.y + ROW * len(label) + 2 * SPACE)
            self.label(label, box.x - 12, box.y + 12 + ROW * len(label) - 6, edge.alarm, "end")

    def then(self, device: Box) -> None:
        """Lead the device's time from the box before to this one, and inputs into the first."""
        x = self.edge + 14 if self.narrow else self.edge + self.lane_width / 2
        if self.last is not None:
            self.picture.arrows.append(Arrow(((x, self.last.bottom), (x, device.y)), "time"))
        for number, (box, edge) in enumerate(self.entering):
            at = self.edge + 14 if self.narrow else self.edge + 60 + 40 * number
            y = box.y + 12 + (0 if self.narrow else ROW * len(model.arrow_words(edge)))
            self.picture.arrows.append(Arrow(((box.x, y), (at, y), (at, device.y)), "sends"))
        self.entering = []
        self.last = device

    def beside(
        self, row: model.BoxRow, node: model.MapNode, device: Box, host_node: model.MapNode
    ) -> None:
        """Draw a call and its host cluster, with what crosses between them."""
        host = self.box(host_node, self.host, self.y)
        sends, returns = model.arrow_words(row.sends), model.arrow_words(row.returns)
        sent_y = self.y + 12 + ROW * len(sends)
        returned_y = sent_y + 14 + ROW * len(returns)
        lowest = returned_y if row.returns is not None else sent_y
        height = max(device.height, host.height, lowest - self.y + 10)
        self.put(node, replace(device, height=height))
        self.put(host_node, replace(host, height=height))
        center = (device.right + host.x) / 2
        for edge, words, y in ((row.sends, sends, sent_y), (row.returns, returns, returned_y)):
            if edge is not None:
                self.arrow(edge, ((device.right, y), (host.x, y)), back=edge is row.returns)
                self.label(words, center, y - 5, edge.alarm, "middle")
        self.sent[node.key] = (device.right + 6, sent_y - 5)
        self.y += height + SPACE

    def below(
        self, row: model.BoxRow, node: model.MapNode, device: Box, host_node: model.MapNode
    ) -> None:
        sends, returns = model.arrow_words(row.sends), model.arrow_words(row.returns)
        self.put(node, device)
        between = ROW * (len(sends) + len(returns)) + 24
        host = self.box(host_node, self.host, device.bottom + between)
        self.put(host_node, host)
        x = self.host + 20
        for edge, at in ((row.sends, x), (row.returns, x + 18)):
            if edge is not None:
                self.arrow(edge, ((at, device.bottom), (at, host.y)), back=edge is row.returns)
        self.sent[node.key] = (x - 12, device.bottom + 16)
        y = device.bottom + 12 + ROW * len(sends)
        alarm = row.sends is not None and row.sends.alarm
        down, up = "\N{DOWNWARDS ARROW}", "\N{UPWARDS ARROW}"
        self.label([f"{down} {line}" for line in sends], x + 28, y, alarm, "start")
        y += ROW * len(returns)
        self.label([f"{up} {line}" for line in returns], x + 28, y, False, "start")
        self.y = host.bottom + SPACE

    def arrow(
        self, edge: model.MapEdge, points: tuple[tuple[float, float], ...], *, back: bool
    ) -> None:
        style = "alarm" if edge.alarm else edge.kind
        self.picture.arrows.append(Arrow(points[::-1] if back else points, style))

    def label(self, words: list[str], x: float, y: float, alarm: bool, anchor: str) -> None:
        """Write words above `y`, the last line nearest."""
        wide = self.width - self.edge - x if self.narrow else GAP - 20
        for number, word in enumerate(reversed(words)):
            text, full = fitted(word, wide, SMALL)
            self.write(x, y - ROW * number, text, "small alarm" if alarm else "small", anchor, full)

    # The variables of a picture, and beside each what the lanes do with it.

    def name_of(self, variable: model.MapVariable) -> list[model.Said]:
        where = model.place(variable.span, self.drawn.span, self.context)
        sort = f"{variable.sort} {where}".rstrip()
        more = [model.Said(f"and {variable.more} more places", "muted")] if variable.more else []
        return [model.Said(variable.name, "title", variable.span), model.Said(sort, "muted"), *more]

    def touched(self, variable: model.MapVariable, lane: str, before: str = "") -> list[model.Said]:
        waits = {
            wait.span
            for cycle in self.drawn.cycles
            if cycle.variable == variable.key
            for wait in cycle.waits
            if wait.lane == lane and variable.key in (wait.source, wait.target)
        }
        lines = []
        for touch in model.touches_of(variable, lane):
            words = before + model.touch_words(touch, self.drawn.span, self.context)
            lines.append(model.Said(words, "alarm" if touch.span in waits else "", touch.span))
        return lines

    def spread(self, variable: model.MapVariable) -> None:
        """Draw the variable between the lanes, and beside it what each of them does with it."""
        y, inset = self.y, 24.0
        alarm = " alarm" if variable.key in self.drawn.alarmed else ""
        x, width = self.edge + self.lane_width + inset, GAP - 2 * inset
        name = boxed(self.name_of(variable), x, y, width, f"variable{alarm}", variable.span)
        sides: dict[str, Box] = {}
        for lane in (DEVICE_LANE, HOST_LANE):
            if touches := self.touched(variable, lane):
                letters_wide = max(columns_of(shown(touch.text)) for touch in touches)
                width = min(self.lane_width, 2 * PAD + letters_wide * SIZE * ADVANCE + 1)
                x = self.host if lane == HOST_LANE else self.edge + self.lane_width - width
                sides[lane] = boxed(touches, x, y, width, f"{lane} touches{alarm}")
        height = max(box.height for box in (name, *sides.values()))
        name = replace(name, height=height)
        self.picture.boxes.append(name)
        for lane, side in sides.items():
            sides[lane] = replace(side, height=height)
            self.picture.boxes.append(sides[lane])
            self.touching(variable, lane, sides[lane], name)
        self.sides[variable.key] = (sides.get(DEVICE_LANE, name), sides.get(HOST_LANE, name))
        self.y += height + 12

    def touching(self, variable: model.MapVariable, lane: str, side: Box, name: Box) -> None:
        """Lead what is written to the variable, and what is read from it; a cycle goes around."""
        modes = {touch.mode for touch in model.touches_of(variable, lane)}
        heads = "end" if modes == {"write"} else "start" if modes == {"read"} else "both"
        style = "touch"
        if variable.key in self.drawn.alarmed:
            heads = "start" if lane == DEVICE_LANE else "end"
            style = "alarm"
        inward = (side.right, name.x) if lane == DEVICE_LANE else (side.x, name.right)
        points = tuple((x, side.middle) for x in inward)
        self.picture.arrows.append(Arrow(points, style, heads))

    def stacked(self, variable: model.MapVariable) -> None:
        lines = self.name_of(variable)
        for lane in (DEVICE_LANE, HOST_LANE):
            lines += self.touched(variable, lane, f"{lane}: ")
        alarm = " alarm" if variable.key in self.drawn.alarmed else ""
        width = self.width - 2 * self.edge
        box = boxed(lines, self.edge, self.y, width, f"variable{alarm}", variable.span)
        self.picture.boxes.append(box)
        self.sides[variable.key] = (box, box)
        self.y = box.bottom + 12

    def cycle(self, number: int, cycle: model.Cycle) -> None:
        """Draw the legs around the lanes: the host wants the variable, the device holds it."""
        if cycle.variable not in self.sides:
            return
        device_side, host_side = self.sides[cycle.variable]
        inset = 7.0 + RAIL * min(number, CYCLES - 1)
        style = "alarm" if cycle.certainty is Certainty.DEFINITE else "alarm possible"
        for leg, wait in enumerate(cycle.waits, 1):
            source, target = self.boxes.get(wait.source), self.boxes.get(wait.target)
            if source is not None and wait.target == cycle.variable:
                rail = self.picture.width - inset
                ends = (source.right, source.middle), (host_side.right, host_side.middle)
            elif target is not None and wait.source == cycle.variable:
                rail = inset
                ends = (device_side.x, device_side.middle), (target.x, target.middle)
            else:
                # It crosses from a call to its host cluster.
                if wait.source in self.sent:
                    self.write(*self.sent.pop(wait.source), str(leg), "small alarm")
                continue
            (_, first), (_, last) = ends
            points = (ends[0], (rail, first), (rail, last), ends[1])
            self.picture.arrows.append(Arrow(points, style))
            if number == 0:
                x = rail + 3 if rail < self.picture.width / 2 else rail - 10
                self.write(x, (first + last) / 2, str(leg), "small alarm")

    def captions(self) -> None:
        """Write the cycles in words, and what is not in the picture."""
        lines: list[tuple[str, str]] = []
        for cycle in self.drawn.cycles:
            lines.append((model.deadlock_words(cycle), "alarm title"))
            for number, wait in enumerate(cycle.waits, 1):
                where = model.place(wait.span, self.drawn.span, self.context)
                lines.append((f"{number} {wait.lane} {wait.text} ({where})", "alarm"))
        lines += [(note, "muted") for note in self.drawn.notes]
        lines += [(f"not shown: {line}", "muted") for line in self.drawn.left_out]
        for text, style in lines:
            width = self.width - 2 * self.edge + 20
            box = boxed([model.Said(text, style)], self.edge - 10, self.y, width, "plain")
            self.picture.words += box.words
            self.y += LEADING * len(box.words) + 2
        self.y += 6
