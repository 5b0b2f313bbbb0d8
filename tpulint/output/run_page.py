"""The report of `tpulint run` as a page that needs nothing else, with a picture of what crossed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from tpulint.output.context import RenderContext
from tpulint.output.html import STYLE, article, page, prose
from tpulint.output.program_map.figure import FIGURE_STYLE, figure
from tpulint.output.program_map.of_run import map_of_run
from tpulint.output.program_map.style import SVG_STYLE
from tpulint.output.run_report import (
    COLUMNS,
    EMPTY,
    NOTE,
    UNFINISHED,
    ComputationRun,
    FinishedRun,
    cells,
    files_section,
    headed,
    headline,
    verdict,
)

MOST = 12  # computations that have a picture
COUNTS = """.wide { overflow-x: auto; }
.counts td, .counts .names th { white-space: nowrap; }
.counts td:not(:first-child):not(:last-child) { text-align: right; }
.counts .names th:not(:first-child):not(:last-child) { text-align: right; }
.counts [colspan] { padding-top: .8rem; }
"""


def html(ran: FinishedRun, context: RenderContext) -> str:
    """The report as a page that needs nothing else."""
    parts = [f"<p>{escape(headline(ran))}</p>\n"]
    if ran.computations:
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        rows = "".join(html_rows(ran.computations))
        counts = f'<table class="counts">\n<tr class="names">{head}</tr>\n{rows}</table>'
        parts.append(f'<div class="wide">{counts}</div>\n<p>{NOTE}</p>\n')
        parts += pictures(ran.computations, context)
    else:
        parts.append(f"<p>{EMPTY}</p>\n")
    if ran.unfinished:
        rows = "".join(f"<li>{escape(each)}</li>\n" for each in ran.unfinished)
        parts.append(f"<p>{UNFINISHED}</p>\n<ul>\n{rows}</ul>\n")
    for number, fault in enumerate(ran.faults):
        parts.append(f"<p>{prose(verdict(fault))}</p>\n")
        parts += [article(fault.finding, context, f"f{number}")] if fault.finding else []
    parts += [f"<p>{prose(note)}</p>\n" for note in ran.notes]
    if ran.checked:
        said, *lines = files_section(ran, ran.checked, context)
        rows = "".join(f"<li>{escape(each.strip())}</li>\n" for each in lines)
        parts.append(f"<p>{prose(said)}</p>\n<ul>\n{rows}</ul>\n")
    return page("tpulint run", "".join(parts), STYLE + COUNTS + FIGURE_STYLE + SVG_STYLE)


def html_rows(computations: Sequence[ComputationRun]) -> Iterator[str]:
    for one in computations:
        yield f'<tr><th colspan="{len(COLUMNS)}">{escape(headed(one))}</th></tr>\n'
        for row in cells(one):
            yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n"


def pictures(computations: Sequence[ComputationRun], context: RenderContext) -> Iterator[str]:
    """The lanes of each computation, with what went from one to the other."""
    for number, one in enumerate(computations[:MOST]):
        yield f"<h2>{escape(headed(one))}</h2>\n"
        yield figure(map_of_run(one), context, f"m{number}")
    if len(computations) > MOST:
        yield f"<p>{len(computations) - MOST} more computations have no picture.</p>\n"
