"""The map as one page that needs nothing else: pictures to zoom, and the source they lead to."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from tpulint.disk import package_text
from tpulint.finding import Location, Span
from tpulint.map.pictures.model import ComputationMap, ProgramMap
from tpulint.map.pictures.svg import FIGURE_STYLE, SVG_STYLE, Link, figure
from tpulint.output.context import RenderContext
from tpulint.output.html import STYLE, page
from tpulint.output.text import shown

AROUND = 2  # rows before and after those that a picture leads to
LONGEST = 40  # rows of one place
MAP_STYLE = STYLE + FIGURE_STYLE + package_text(__file__, "map.css") + SVG_STYLE
# Zoom by the buttons, by + - 0 and by Ctrl and the wheel; move by dragging. Links work without it.
SCRIPT = package_text(__file__, "map.js")


def render_html(program: ProgramMap, context: RenderContext) -> str:
    sources = Sources(context)
    sections = [
        section(computation, context, f"m{number}", sources.link)
        for number, computation in enumerate(program.computations)
    ]
    if program.left_out:
        rows = "".join(f"<li>{escape(shown(line))}</li>\n" for line in program.left_out)
        sections.append(f"<p>Not shown, {len(program.left_out)} more:</p>\n<ul>\n{rows}</ul>\n")
    body = f"{''.join(sections)}{sources.html()}<script>{SCRIPT}</script>\n"
    return page(f"Map of {escape(shown(program.subject))}", body, MAP_STYLE)


def section(drawn: ComputationMap, context: RenderContext, key: str, link: Link) -> str:
    buttons = "".join(
        f'<button type="button" data-zoom="{sign}" aria-label="{label}">{text}</button>'
        for sign, label, text in (
            ("+", "zoom in", "+"),
            ("-", "zoom out", "\N{MINUS SIGN}"),
            ("0", "fit to the page", "fit"),
        )
    )
    return (
        f"<section>\n<h2>{escape(shown(drawn.title))}</h2>\n"
        f'<div class="tools">{buttons}</div>\n'
        f"{figure(drawn, context, key, link, focus=True)}</section>\n"
    )


class Sources:
    """The places that a page leads to; it shows the rows around them."""

    def __init__(self, context: RenderContext) -> None:
        self.context = context
        self._rows: dict[str, set[int]] = {}

    def link(self, span: Span) -> str | None:
        """Return the address in the page of the first row of `span`."""
        source = self.context.sources.get(span.filename)
        if source is None or not 0 < span.start.row <= len(source.lines):
            return None
        last = min(span.end.row, span.start.row + LONGEST, len(source.lines))
        self._rows.setdefault(span.filename, set()).update(
            range(max(span.start.row - AROUND, 1), min(last + AROUND, len(source.lines)) + 1)
        )
        return f"#{self._key(span.filename)}-{span.start.row}"

    def html(self) -> str:
        """Return the rows by file; for when every link is made."""
        blocks = [
            f'<h3>{escape(shown(name))}</h3>\n<pre class="source" tabindex="0">'
            f"{''.join(self._file(name, sorted(rows)))}</pre>\n"
            for name, rows in self._rows.items()
        ]
        return f"<h2>Source</h2>\n{''.join(blocks)}" if blocks else ""

    def _key(self, filename: str) -> str:
        return f"f{list(self._rows).index(filename)}"

    def _file(self, filename: str, rows: Iterable[int]) -> Iterable[str]:
        before = 0
        for row in rows:
            if before and row > before + 1:
                yield "<span>\N{MIDLINE HORIZONTAL ELLIPSIS}</span>"
            before = row
            _, place = self.context.place(filename, Location(row, 1))
            text = escape(shown(self.context.line(filename, row)))
            yield f'<span id="{self._key(filename)}-{row}"><b>{place.row}</b>{text}</span>'
