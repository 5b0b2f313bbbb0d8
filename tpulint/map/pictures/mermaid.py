"""The map as a Mermaid flowchart, for Markdown that shows one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.map.pictures.model import THEN, ComputationMap, MapEdge, MapNode, ProgramMap
from tpulint.map.pictures.rows import alarmed, arrow_words, line_words, place, title
from tpulint.output.context import RenderContext
from tpulint.output.text import shown

# Characters that mean something to Mermaid, as it writes them itself.
CODES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "'", "\\": "#92;"}
ALARM = "stroke:#cf222e,stroke-width:2px"
STYLES = (
    "classDef device stroke:#0969da",
    "classDef host stroke:#8250df",
    "classDef alarm stroke:#cf222e,stroke-width:3px",
)


def render(found: ProgramMap, context: RenderContext) -> str:
    """Return the map as one flowchart."""
    chart = _Chart(context)
    for number, each in enumerate(found.computations):
        chart.add(each, f"c{number}")
    lines = ["flowchart TB", *chart.lines, *chart.edges, *STYLES]
    if chart.alarms:
        lines.append(f"linkStyle {','.join(map(str, chart.alarms))} {ALARM}")
    lines += [f"%% not shown: {_comment(each)}" for each in chart.left_out]
    lines += [f"%% not shown: {_comment(each)}" for each in found.left_out]
    return "\n".join(lines) + "\n"


class _Chart:
    def __init__(self, context: RenderContext) -> None:
        self.context = context
        self.lines: list[str] = []
        self.edges: list[str] = []
        self.alarms: list[int] = []  # edges in a cycle, by number
        self.left_out: list[str] = []

    def add(self, drawn: ComputationMap, key: str) -> None:
        red = alarmed(drawn)
        names = {each.key: f"{key}n{number}" for number, each in enumerate(drawn.nodes)}
        names |= {each.key: f"{key}v{number}" for number, each in enumerate(drawn.variables)}
        self.lines.append(f'subgraph {key} ["{_text(drawn.title)}"]')
        for lane, label in ((DEVICE_LANE, "device (compiled by XLA)"), (HOST_LANE, "host")):
            nodes = [each for each in drawn.nodes if each.lane == lane]
            if nodes:
                self.lines.append(f'  subgraph {key}{lane} ["{label}"]')
                self.lines += self.nested(nodes, drawn, names, red, f"{key}{lane}r")
                self.lines.append("  end")
        for variable in drawn.variables:
            where = place(variable.span, drawn.span, self.context)
            label = _text(f"{variable.name}\n{variable.sort} {where}".rstrip())
            style = ":::alarm" if variable.key in red else ""
            self.lines.append(f'  {names[variable.key]}[("{label}")]{style}')
        self.lines.append("end")
        for edge in drawn.edges:
            self.edge(names[edge.source], names[edge.target], _label(edge), edge.alarm)
        for variable in drawn.variables:
            self.touches(drawn, variable.key, names)
        for cycle in drawn.cycles:
            for wait in cycle.waits:
                if drawn.edge(wait.source, wait.target) is None:
                    self.edge(names[wait.source], names[wait.target], _text(wait.text), True)
        self.left_out += drawn.left_out

    def nested(
        self,
        nodes: Iterable[MapNode],
        drawn: ComputationMap,
        names: dict[str, str],
        red: frozenset[str],
        prefix: str,
    ) -> Iterator[str]:
        """Yield the nodes, in a subgraph for each body of control flow."""
        titles = {each.key: each for each in drawn.regions}
        open_now: list[str] = []
        count = 0
        for node in nodes:
            shared = 0
            while shared < min(len(open_now), len(node.regions)):
                if open_now[shared] != node.regions[shared]:
                    break
                shared += 1
            while len(open_now) > shared:
                open_now.pop()
                yield f"{'  ' * (len(open_now) + 2)}end"
            for key in node.regions[shared:]:
                region = titles[key]
                where = place(region.span, drawn.span, self.context)
                label = _text(f"{region.title} {where}".rstrip())
                yield f'{"  " * (len(open_now) + 2)}subgraph {prefix}{count} ["{label}"]'
                open_now.append(key)
                count += 1
            style = "alarm" if node.key in red else node.lane
            label = self.label(node, drawn)
            yield f'{"  " * (len(open_now) + 2)}{names[node.key]}["{label}"]:::{style}'
        while open_now:
            open_now.pop()
            yield f"{'  ' * (len(open_now) + 2)}end"

    def label(self, node: MapNode, drawn: ComputationMap) -> str:
        where = place(node.span, drawn.span, self.context)
        lines = [f"{title(node)} {where}".rstrip()]
        lines += [line_words(each, node, drawn.span, self.context) for each in node.lines]
        if node.more:
            lines.append(f"... and {node.more} more")
        return _text("\n".join(lines))

    def touches(self, drawn: ComputationMap, key: str, names: dict[str, str]) -> None:
        """Draw an edge for each node that touches the variable: to it for a write, else from it."""
        variable = next(each for each in drawn.variables if each.key == key)
        modes: dict[str, set[str]] = {}
        for touch in variable.touches:
            if touch.node in names:
                modes.setdefault(touch.node, set()).add(touch.mode)
        for node, found in modes.items():
            words = "reads and writes" if len(found) > 1 else _verb(*found)
            if found == {"read"}:
                self.edge(names[key], names[node], "read by", False, "-.->")
            else:
                self.edge(names[node], names[key], words, False, "-.->")

    def edge(self, source: str, target: str, label: str, alarm: bool, line: str = "-->") -> None:
        if alarm:
            self.alarms.append(len(self.edges))
        words = f'|"{label}"|' if label else ""
        self.edges.append(f"{source} {line}{words} {target}")


def _verb(mode: str) -> str:
    return "writes" if mode == "write" else "may write"


def _label(edge: MapEdge) -> str:
    return "" if edge.kind == THEN else _text("\n".join(arrow_words(edge)) or edge.kind)


def _text(text: str) -> str:
    lines = ("".join(CODES.get(each, each) for each in shown(line)) for line in text.split("\n"))
    return "<br/>".join(lines)


def _comment(text: str) -> str:
    return shown(text).replace("{", "(").replace("}", ")")
