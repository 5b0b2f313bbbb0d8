"""The map as one picture that needs nothing else, in light and dark, alone or in a page."""

from __future__ import annotations

from collections.abc import Callable
from xml.sax.saxutils import escape as escaped
from xml.sax.saxutils import quoteattr

from tpulint.disk import package_text
from tpulint.finding import Span
from tpulint.map.pictures.layout import Arrow, Box, Drawing, Words, drawing
from tpulint.map.pictures.model import ComputationMap, ProgramMap
from tpulint.output.context import RenderContext

# Every color of letters has a contrast of 4.5 or more to what is behind it (WCAG AA).
SVG_STYLE = package_text(__file__, "picture.css")

Link = Callable[[Span], "str | None"]
SEPARATION = 24.0


def render_svg(program: ProgramMap, context: RenderContext) -> str:
    """Return the pictures of all computations below each other."""
    drawings = [drawing(computation, context) for computation in program.computations]
    width = max((drawing.width for drawing in drawings), default=400.0)
    parts, y = [], 0.0
    for number, picture in enumerate(drawings):
        y += 30
        parts.append(_text(Words(14, y - 8, picture.title, "title")))
        parts.append(f'<g transform="translate(0 {_number(y)})">{body(picture, f"m{number}")}</g>')
        y += picture.height + SEPARATION
    if program.left_out:
        more = f"not shown: {len(program.left_out)} more computations"
        parts.append(_text(Words(14, y, more, "muted")))
        y += SEPARATION
    title = f"Map of {program.subject}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tpumap" {_size(width, y)} role="img" '
        f"aria-label={quoteattr(title)}>\n<title>{escaped(title)}</title>\n"
        f'<style>{SVG_STYLE}</style>\n<rect class="ground" width="100%" height="100%"/>\n'
        f"{''.join(parts)}\n</svg>\n"
    )


def inline(picture: Drawing, key: str, name: str, link: Link) -> str:
    """Return a picture for a page; what it shows leads where `link` says."""
    return (
        f'<svg class="tpumap {name}" {_size(picture.width, picture.height)} role="group" '
        f"aria-label={quoteattr(picture.title)}>{body(picture, key, link)}</svg>"
    )


def body(picture: Drawing, key: str, link: Link = lambda span: None) -> str:
    """Return the elements of a picture; `key` makes the names in it unique."""
    parts = ["<defs>" + "".join(_head(key, name) for name in ("", "alarm")) + "</defs>"]
    parts += [_box(frame, link) for frame in picture.frames[::-1]]
    parts += [_arrow(arrow, key) for arrow in picture.arrows if "alarm" not in arrow.style]
    parts += [_box(box, link) for box in picture.boxes]
    parts += [_arrow(arrow, key) for arrow in picture.arrows if "alarm" in arrow.style]
    parts += [_text(word) for word in picture.words]
    return "\n".join(parts)


def _head(key: str, name: str) -> str:
    return (
        f'<marker id="{key}{name}head" class="head {name}" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="8" markerHeight="8" orient="auto-start-reverse" '
        'markerUnits="userSpaceOnUse"><path d="M0 0 10 5 0 10z"/></marker>'
    )


def _arrow(arrow: Arrow, key: str) -> str:
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in arrow.points)
    head = f"url(#{key}{'alarm' if 'alarm' in arrow.style else ''}head)"
    start = f' marker-start="{head}"' if arrow.ends in ("start", "both") else ""
    end = f' marker-end="{head}"' if arrow.ends in ("end", "both") else ""
    return f'<polyline class="arrow {arrow.style}" points="{points}"{start}{end}/>'


def _box(box: Box, link: Link) -> str:
    corner = f'x="{_number(box.x)}" y="{_number(box.y)}"'
    size = f'width="{_number(box.width)}" height="{_number(box.height)}"'
    rectangle = f'<rect class="box" {corner} {size} rx="6"/>'
    words = "".join(_linked(_text(word), word.span or box.span, link) for word in box.words)
    return f'<g class="{box.style}">{_linked(rectangle, box.span, link)}{words}</g>'


def _linked(element: str, span: Span | None, link: Link) -> str:
    goal = link(span) if span is not None else None
    return element if goal is None else f"<a href={quoteattr(goal)}>{element}</a>"


def _text(words: Words) -> str:
    anchor = "" if words.anchor == "start" else f' text-anchor="{words.anchor}"'
    tip = f"<title>{escaped(words.full)}</title>" if words.full else ""
    style = f' class="{words.style}"' if words.style else ""
    return (
        f'<text x="{_number(words.x)}" y="{_number(words.y)}"{anchor}{style} '
        f'xml:space="preserve">{tip}{escaped(words.text)}</text>'
    )


def _size(width: float, height: float) -> str:
    wide, high = _number(width), _number(height)
    return f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


# A picture in a page: wide where there is space for it, else narrow.

FIGURE_STYLE = package_text(__file__, "figure.css")


def figure(
    drawn: ComputationMap,
    context: RenderContext,
    key: str,
    link: Link = lambda span: None,
    *,
    focus: bool = False,
) -> str:
    """Return the picture of a computation, once for wide pages and once for narrow ones."""
    wide = inline(drawing(drawn, context), f"{key}w", "wide", link)
    narrow = inline(drawing(drawn, context, narrow=True), f"{key}n", "narrow", link)
    focusable = ' tabindex="0"' if focus else ""
    return f"<figure{focusable}>\n{wide}\n{narrow}\n</figure>\n"
