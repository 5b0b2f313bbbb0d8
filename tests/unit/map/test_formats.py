"""The formats of a map by their structure: what every reader of such a file relies on."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.unit.map.drawn import context_of, found
from tests.unit.map.programs import DEADLOCK, LAYERS, LOOP, SENT, VARIABLES
from tpulint.map.pictures import FORMATS, load
from tpulint.map.pictures.layout import drawing
from tpulint.map.pictures.model import ComputationMap, ProgramMap, size_in_words
from tpulint.output.context import RenderContext

ODD = """
    import tensorflow.compat.v1 as tf

    def note(x):
        return x

    def step(x):
        a = tf.tpu.outside_compilation(note, {"<b>&\\"`#": x * 2.0}["<b>&\\"`#"])
        return tf.cond(a > 0.0, lambda: tf.exp(a), lambda: tf.tpu.outside_compilation(note, a))

    tf.tpu.rewrite(step, [tf.zeros([])])
"""
PROGRAMS = {
    "sent": SENT,
    "layers": LAYERS,
    "loop": LOOP,
    "variables": VARIABLES,
    "deadlock": DEADLOCK,
    "odd": ODD,
}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(params=PROGRAMS)
def drawn_map(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ProgramMap, RenderContext]:
    here = found(PROGRAMS[request.param], tmp_path)
    return here.program, context_of(here, tmp_path)


def drawn_in(program: ProgramMap) -> ComputationMap:
    (only,) = program.computations
    return only


def test_every_format_names_every_box_and_variable(
    drawn_map: tuple[ProgramMap, RenderContext],
) -> None:
    program, context = drawn_map
    for name in FORMATS:
        written = load(name)(program, context)
        for node in drawn_in(program).nodes:
            assert node.title.split("(")[0] in written, name
        for variable in drawn_in(program).variables:
            assert variable.name in written, name


def test_text_keeps_to_its_width(drawn_map: tuple[ProgramMap, RenderContext]) -> None:
    program, context = drawn_map
    for width in (60, 80, 100):
        lines = load("text")(program, context._replace(width=width)).splitlines()
        assert max(len(line) for line in lines[2:]) <= width


def test_colour_changes_no_word(drawn_map: tuple[ProgramMap, RenderContext]) -> None:
    program, context = drawn_map
    coloured = load("text")(program, context._replace(color=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == load("text")(program, context)


LABEL = r'"(?:[^"#<`]|#\w+;|<br/>)*"'
STATEMENTS = [
    rf"subgraph (\w+) \[{LABEL}\]",
    r"end",
    rf"(\w+)(?:\[{LABEL}\]|\[\({LABEL}\)\])(?::::(\w+))?",
    rf"(\w+) (?:-->|-\.->)(?:\|{LABEL}\|)? (\w+)",
    r"classDef (\w+) [\w:#,-]+",
    r"linkStyle [\d,]+ [\w:#,-]+",
    r"%% [^{}]*",
]


def test_mermaid_has_its_syntax(drawn_map: tuple[ProgramMap, RenderContext]) -> None:
    program, context = drawn_map
    first, *lines = load("mermaid")(program, context).splitlines()
    assert first == "flowchart TB"
    names: set[str] = set()
    styles: set[str] = set()
    depth = edges = 0
    for line in map(str.strip, lines):
        kind, match = next(
            (kind, match)
            for kind, part in enumerate(STATEMENTS)
            if (match := re.fullmatch(part, line))
        )
        depth += (kind == 0) - (kind == 1)
        assert depth >= 0
        if kind in (0, 2):
            assert match[1] not in names, "a name is given once"
            names.add(match[1])
            styles |= {match[2]} if kind == 2 and match[2] else set()
        if kind == 3:
            assert {match[1], match[2]} <= names
            edges += 1
        if kind == 4:
            styles.discard(match[1])
        if kind == 5:
            assert all(int(part) < edges for part in line.split()[1].split(","))
    assert depth == 0
    assert not styles, "every style is defined"
    red = [cycle for cycle in drawn_in(program).cycles for _ in cycle.waits]
    assert any(line.startswith("linkStyle") for line in lines) == bool(red)


def test_svg_is_well_formed_and_needs_nothing_else(
    drawn_map: tuple[ProgramMap, RenderContext],
) -> None:
    program, context = drawn_map
    written = load("svg")(program, context)
    root = ElementTree.fromstring(written)
    assert root.tag == f"{SVG}svg"
    assert "prefers-color-scheme: dark" in written
    assert_alone(written.replace('xmlns="http://www.w3.org/2000/svg"', ""))
    marked = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(marked) == len(set(marked))
    used = set(re.findall(r"url\(#([^)]+)\)", written))
    assert used <= set(marked)
    red = [
        element
        for element in root.iter(f"{SVG}polyline")
        if "alarm" in (element.get("class") or "")
    ]
    assert bool(red) == bool(drawn_in(program).cycles)


def assert_alone(page: str) -> None:
    """Nothing in the page is fetched from elsewhere."""
    assert "//" not in re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)
    assert not re.search(r"\b(src|srcset|data|action|poster)=|@import|url\((?!#)", page)


class Reader(HTMLParser):
    """The ids and the addresses in a page; raises where a tag is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "xlink:href"):
                self.links.append(str(value))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_leads_to_lines_that_are_in_it(drawn_map: tuple[ProgramMap, RenderContext]) -> None:
    program, context = drawn_map
    written = load("html")(program, context)
    assert_alone(written)
    reader = Reader()
    reader.feed(written)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.links
    for link in reader.links:
        assert link.startswith("#")
        assert link[1:] in reader.ids


def rectangles(
    drawn: ComputationMap, context: RenderContext, narrow: bool
) -> Iterator[tuple[float, ...]]:
    for box in drawing(drawn, context, narrow=narrow).boxes:
        yield box.x, box.y, box.right, box.bottom


@pytest.mark.parametrize("narrow", [False, True])
def test_boxes_neither_overlap_nor_leave_the_picture(
    drawn_map: tuple[ProgramMap, RenderContext], narrow: bool
) -> None:
    program, context = drawn_map
    drawn = drawn_in(program)
    boxes = list(rectangles(drawn, context, narrow))
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= drawing(drawn, context, narrow=narrow).width
        for other in boxes[number + 1 :]:
            apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
            assert apart


def test_sizes_in_words() -> None:
    output = [size_in_words(size) for size in (0, 1023, 1024, 4096 * 1024, 3 << 40)]
    assert output == ["0 B", "1023 B", "1.0 KiB", "4.0 MiB", "3072.0 GiB"]
