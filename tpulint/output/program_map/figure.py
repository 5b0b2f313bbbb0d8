"""A picture in a page: wide where there is space for it, else narrow."""

from __future__ import annotations

from tpulint.output.context import RenderContext
from tpulint.output.program_map.layout import drawing
from tpulint.output.program_map.model import ComputationMap
from tpulint.output.program_map.svg import Link, inline

FIGURE_STYLE = """
figure { margin: .5rem 0; overflow-x: auto; }
figure svg { display: block; height: auto; max-width: 100%; }
figure svg.narrow { display: none; }
@media (max-width: 56rem) {
  figure svg.wide { display: none; }
  figure svg.narrow { display: block; margin: 0 auto; }
}
"""


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
