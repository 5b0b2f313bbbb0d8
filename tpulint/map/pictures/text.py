"""The map for a terminal: two columns, time running down, then variables and cycles."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator

from tpulint.finding import DEVICE_LANE, HOST_LANE, Span
from tpulint.map.pictures import model
from tpulint.output.context import RenderContext
from tpulint.output.text import BOLD, CYAN, RED, YELLOW, columns, cut, shown, styled

GAP = " | "
TextCell = tuple[str, tuple[str, ...]]  # a line of a column, and its styles


def render_text(program: model.ProgramMap, context: RenderContext) -> str:
    blocks = ["\n".join(_Text(drawn, context).lines()) + "\n" for drawn in program.computations]
    if program.left_out:
        more = "".join(f"  {shown(line)}\n" for line in program.left_out)
        blocks.append(f"not shown: {len(program.left_out)} more computations\n{more}")
    return "\n".join(blocks)


class _Text:
    def __init__(self, drawn: model.ComputationMap, context: RenderContext) -> None:
        self.drawn = drawn
        self.context = context
        self.half = (context.width - len(GAP)) // 2

    def lines(self) -> Iterator[str]:
        drawn = self.drawn
        yield self.styled(f"{drawn.title} ({model.place(drawn.span, None, self.context)})", BOLD)
        yield from (f"  {note}" for note in drawn.notes)
        yield ""
        yield self.joined(("device", (BOLD, CYAN)), ("host", (BOLD, YELLOW)))
        yield "-+-".join("-" * self.half for _ in range(2))
        open_now: list[model.MapRegion] = []
        for ended, begun, row in model.in_regions(drawn, model.rows(drawn)):
            for _ in range(ended):
                region = open_now.pop()
                yield f"{'  ' * len(open_now)}end of {region.title}"
            for region in begun:
                yield f"{'  ' * len(open_now)}{region.title} {self.place(region.span)}:"
                open_now.append(region)
            if row is not None:
                yield from self.row(row)
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
            for line in drawn.left_out:
                yield from textwrap.wrap(f"not shown: {shown(line)}", self.context.width)

    def row(self, row: model.BoxRow) -> Iterator[str]:
        indent = "  " * len(row.regions)
        left = self.box(row.device, indent)
        right = self.box(row.host, "")
        goes, comes = ("-->", "<--") if row.device is not None else ("<--", "-->")
        arrows: list[TextCell] = []
        for arrow, edge in ((goes, row.sends), (comes, row.returns)):
            if edge is not None:
                style = (RED,) if edge.alarm else ()
                words = model.arrow_words(edge) or [""]
                arrows += [(f"{indent}  {arrow} {word}", style) for word in words]
        if row.device is not None:
            left += arrows
        else:
            right += [(text.strip(), styles) for text, styles in arrows if len(text.strip()) > 3]
        empty: TextCell = ("", ())
        for cell, other in itertools.zip_longest(left, right, fillvalue=empty):
            yield self.joined(cell, other)

    def box(self, node: model.MapNode | None, indent: str) -> list[TextCell]:
        if node is None:
            return []
        first = (RED, BOLD) if node.key in self.drawn.alarmed else (BOLD,)
        title, *lines = model.box_lines(node, self.drawn.span, self.context)
        cells: list[TextCell] = [(f"{indent}{title.text}", first)]
        for line in lines:
            room = self.half - len(indent) - 4
            wrapped = textwrap.wrap(shown(line.text), room, subsequent_indent="  ")
            cells += [(f"{indent}  {row}", ()) for row in wrapped]
        return cells

    def variable(self, variable: model.MapVariable) -> Iterator[str]:
        held = variable.key in self.drawn.alarmed
        name = f"  {variable.name} ({variable.sort}) {self.place(variable.span)}"
        yield self.styled(name.rstrip(), *((RED, BOLD) if held else ()))
        for lane in (DEVICE_LANE, HOST_LANE):
            words = [
                model.touch_words(touch, self.drawn.span, self.context)
                for touch in model.touches_of(variable, lane)
            ]
            if words:
                line = f"    {lane}: {', '.join(words)}"
                yield from self.wrapped(line, "      ", *((RED,) if held else ()))
        if variable.more:
            yield f"    ... and {variable.more} more places"

    def cycle(self, cycle: model.Cycle) -> Iterator[str]:
        yield self.styled(model.deadlock_words(cycle), RED, BOLD)
        for number, wait in enumerate(cycle.waits, 1):
            line = f"  {number} {wait.lane} {wait.text} ({self.place(wait.span)})"
            yield from self.wrapped(line, "    ", RED)
        yield self.styled("  and so back to 1", RED)

    def wrapped(self, line: str, indent: str, *styles: str) -> Iterator[str]:
        for part in textwrap.wrap(line, self.context.width, subsequent_indent=indent):
            yield self.styled(part, *styles)

    def place(self, span: Span | None) -> str:
        return model.place(span, self.drawn.span, self.context)

    def joined(self, left: TextCell, right: TextCell) -> str:
        cells = []
        for text, styles in (left, right):
            fits = cut(shown(text), self.half)
            padding = " " * (self.half - columns(fits))
            cells.append((self.styled(fits, *styles) if fits else "") + padding)
        return GAP.join(cells).rstrip()

    def styled(self, text: str, *styles: str) -> str:
        return styled(self.context, shown(text), *styles)


# The map as a Mermaid flowchart, for Markdown that shows one.

# Characters that mean something to Mermaid, as it writes them itself.
CODES = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "'", "\\": "#92;"}
)
ALARM = "stroke:#cf222e,stroke-width:2px"
STYLES = (
    "classDef device stroke:#0969da",
    "classDef host stroke:#8250df",
    "classDef alarm stroke:#cf222e,stroke-width:3px",
)


def render_mermaid(program: model.ProgramMap, context: RenderContext) -> str:
    chart = _Chart(context)
    for number, computation in enumerate(program.computations):
        chart.add(computation, f"c{number}")
    lines = ["flowchart TB", *chart.lines, *chart.edges, *STYLES]
    if chart.alarms:
        lines.append(f"linkStyle {','.join(map(str, chart.alarms))} {ALARM}")
    for line in [*chart.left_out, *program.left_out]:
        comment = shown(line).replace("{", "(").replace("}", ")")
        lines.append(f"%% not shown: {comment}")
    return "\n".join(lines) + "\n"


class _Chart:
    def __init__(self, context: RenderContext) -> None:
        self.context = context
        self.lines: list[str] = []
        self.edges: list[str] = []
        self.alarms: list[int] = []  # edges in a cycle, by number
        self.left_out: list[str] = []

    def add(self, drawn: model.ComputationMap, key: str) -> None:
        names = {node.key: f"{key}n{number}" for number, node in enumerate(drawn.nodes)}
        for number, variable in enumerate(drawn.variables):
            names[variable.key] = f"{key}v{number}"
        self.lines.append(f'subgraph {key} ["{_text(drawn.title)}"]')
        for lane, label in ((DEVICE_LANE, "device (compiled by XLA)"), (HOST_LANE, "host")):
            nodes = [node for node in drawn.nodes if node.lane == lane]
            if nodes:
                self.lines.append(f'  subgraph {key}{lane} ["{label}"]')
                self.lines += self.nested(nodes, drawn, names, f"{key}{lane}r")
                self.lines.append("  end")
        for variable in drawn.variables:
            where = model.place(variable.span, drawn.span, self.context)
            label = _text(f"{variable.name}\n{variable.sort} {where}".rstrip())
            style = ":::alarm" if variable.key in drawn.alarmed else ""
            self.lines.append(f'  {names[variable.key]}[("{label}")]{style}')
        self.lines.append("end")
        for edge in drawn.edges:
            words = "\n".join(model.arrow_words(edge)) or edge.kind
            label = "" if edge.kind == model.THEN else _text(words)
            self.edge(names[edge.source], names[edge.target], label, edge.alarm)
        for variable in drawn.variables:
            self.touches(variable, names)
        for cycle in drawn.cycles:
            for wait in cycle.waits:
                if drawn.edge(wait.source, wait.target) is None:
                    self.edge(names[wait.source], names[wait.target], _text(wait.text), True)
        self.left_out += drawn.left_out

    def nested(
        self,
        nodes: Iterable[model.MapNode],
        drawn: model.ComputationMap,
        names: dict[str, str],
        prefix: str,
    ) -> Iterator[str]:
        """Yield the nodes, in a subgraph for each body of control flow."""
        indent, count = "    ", 0
        for ended, begun, node in model.in_regions(drawn, nodes):
            for _ in range(ended):
                indent = indent[2:]
                yield f"{indent}end"
            for region in begun:
                where = model.place(region.span, drawn.span, self.context)
                label = _text(f"{region.title} {where}".rstrip())
                yield f'{indent}subgraph {prefix}{count} ["{label}"]'
                indent += "  "
                count += 1
            if node is not None:
                style = "alarm" if node.key in drawn.alarmed else node.lane
                lines = model.box_lines(node, drawn.span, self.context)
                label = _text("\n".join(line.text for line in lines))
                yield f'{indent}{names[node.key]}["{label}"]:::{style}'

    def touches(self, variable: model.MapVariable, names: dict[str, str]) -> None:
        """Draw an edge for each node that touches the variable: to it for a write, else from it."""
        modes: dict[str, set[str]] = {}
        for touch in variable.touches:
            if touch.node in names:
                modes.setdefault(touch.node, set()).add(touch.mode)
        name = names[variable.key]
        for node, touch_modes in modes.items():
            if touch_modes == {"read"}:
                self.edge(name, names[node], "read by", False, "-.->")
            else:
                verb = "writes" if touch_modes == {"write"} else "may write"
                words = "reads and writes" if len(touch_modes) > 1 else verb
                self.edge(names[node], name, words, False, "-.->")

    def edge(self, source: str, target: str, label: str, alarm: bool, line: str = "-->") -> None:
        if alarm:
            self.alarms.append(len(self.edges))
        words = f'|"{label}"|' if label else ""
        self.edges.append(f"{source} {line}{words} {target}")


def _text(text: str) -> str:
    return "<br/>".join(shown(line).translate(CODES) for line in text.split("\n"))
