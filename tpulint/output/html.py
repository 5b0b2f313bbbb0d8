"""One page that needs nothing else: the findings, their lines and their lanes side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from tpulint.codes import CODES
from tpulint.disk import package_text
from tpulint.finding import DEVICE_LANE, HOST_LANE, Finding, Span, Step
from tpulint.map.pictures import model
from tpulint.map.pictures.svg import FIGURE_STYLE, SVG_STYLE, figure
from tpulint.output.context import RenderContext
from tpulint.output.summary import count_line, hidden_lines, unfollowed_lines
from tpulint.output.text import excerpt, lane_names, one_line, shown
from tpulint.output.text import marked as stretch

STYLE = package_text(__file__, "page.css")


def render_html(findings: Sequence[Finding], context: RenderContext) -> str:
    notes = [count_line(len(findings), context)]
    if context.hidden:
        notes += hidden_lines(context.hidden, context.unset)
    notes += unfollowed_lines(context.unfollowed)
    summary = "".join(f"<p>{prose(note)}</p>\n" for note in notes)
    articles = "".join(
        article(finding, context, f"m{number}") for number, finding in enumerate(findings)
    )
    return page("tpulint", summary + articles, STYLE + FIGURE_STYLE + SVG_STYLE)


def page(title: str, body: str, style: str) -> str:
    """Return a whole page: `body` is HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n{body}</body>\n</html>\n"
    )


def article(finding: Finding, context: RenderContext, key: str) -> str:
    """Return a finding; `key` makes the names in its picture unique in the page."""
    code = CODES[finding.code]
    link = f'<a href="{escape(code.url)}">{code.code}</a>' if code.url else code.code
    parts = [
        f'<article class="{finding.certainty.value}">\n'
        f"<h2>{link} {escape(code.name)}</h2>\n"
        f"<p>{prose(one_line(finding.message))} ({finding.certainty.value})</p>\n"
        f"<code>{escape(context.short(finding.span))}</code>\n"
    ]
    rows = excerpt(finding.span, context).rows
    if rows:
        lines = [f"{number:>5}  {marked(text, under)}" for number, text, under in rows]
        parts.append(f"<pre>{chr(10).join(lines)}</pre>\n")
    if finding.trace:
        parts.append(table(finding.trace, context))
    drawn = map_of_finding(finding)
    if drawn is not None:
        parts.append(figure(drawn, context, key))
    if finding.fix is not None:
        fix = finding.fix
        parts.append(f"<p>Help: {prose(fix.message)} ({fix.applicability.value} fix)</p>\n")
    return "".join(parts) + "</article>\n"


def marked(text: str, underline: str) -> str:
    """Return the line with what is underlined in text marked instead.

    Wide characters move the mark.
    """
    if not underline:
        return escape(text)
    start = len(underline) - len(underline.lstrip())
    end = len(underline)
    return f"{escape(text[:start])}<mark>{escape(text[start:end])}</mark>{escape(text[end:])}"


def table(trace: Sequence[Step], context: RenderContext) -> str:
    names = lane_names(trace)
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = []
    for number, step in enumerate(trace, 1):
        cell = (
            f'<td data-lane="{escape(step.lane)}">'
            f"{number} <code>{escape(context.short(step.span))}</code>"
            f"<pre>{first_line(step.span, context)}</pre>{prose(one_line(step.message))}</td>"
        )
        cells = [cell if name == step.lane else "<td></td>" for name in names]
        rows.append("<tr>" + "".join(cells) + "</tr>\n")
    return f'<table class="lanes">\n<tr>{head}</tr>\n{"".join(rows)}</table>\n'


def first_line(span: Span, context: RenderContext) -> str:
    """Return the row in which `span` starts, its stretch marked, without indentation."""
    line = context.line(span.filename, span.start.row).rstrip()
    start, end = stretch(span, span.start.row, line)
    before, inside, after = line[:start].lstrip(), line[start:end], line[end:]
    parts = [escape(shown(part)) for part in (before, inside, after)]
    return f"{parts[0]}<mark>{parts[1]}</mark>{parts[2]}" if parts[1] else "".join(parts)


def prose(text: str) -> str:
    """Return `text`, with what is in backquotes set as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


DEVICE, CALLS, HOST, VARIABLE = "device", "call", "host", "variable"


def map_of_finding(finding: Finding) -> model.ComputationMap | None:
    """Return the picture, None for a finding whose lanes do not wait for each other."""
    device = [step for step in finding.trace if step.lane == DEVICE_LANE]
    host = [step for step in finding.trace if step.lane == HOST_LANE]
    held = next((step for step in device if step.holds), None)
    if held is None or not device[-1].waits_for or not host or host[-1].waits_for != held.holds:
        return None
    call, wants = device[-1], host[-1]
    builds, runs = _lines(device[:-1]), _lines(host)
    waited = _plain(call.waits_for)
    nodes = (
        model.MapNode(DEVICE, DEVICE_LANE, model.SEGMENT, "device program", None, builds),
        model.MapNode(CALLS, DEVICE_LANE, model.CALL, _plain(call.message), call.span),
        model.MapNode(HOST, HOST_LANE, model.CLUSTER, waited, host[0].span, runs),
    )
    edges = (
        model.MapEdge(DEVICE, CALLS, model.THEN),
        model.MapEdge(CALLS, HOST, model.SENDS, label="waits for", alarm=True),
        model.MapEdge(HOST, CALLS, model.RETURNS, label="never comes back"),
    )
    touches = (
        model.MapTouch(DEVICE, DEVICE_LANE, "held", "the device program", held.span),
        model.MapTouch(HOST, HOST_LANE, "wanted", "the host", wants.span),
    )
    waits = (
        model.MapWait(VARIABLE, CALLS, DEVICE_LANE, _plain(held.message), held.span),
        model.MapWait(CALLS, HOST, DEVICE_LANE, _plain(call.message), call.span),
        model.MapWait(HOST, VARIABLE, HOST_LANE, _plain(wants.message), wants.span),
    )
    variable = model.MapVariable(VARIABLE, held.holds, "variable", None, touches)
    cycle = model.Cycle(VARIABLE, finding.certainty, waits)
    title = "The deadlock"
    return model.ComputationMap(
        title, finding.span, nodes=nodes, edges=edges, variables=(variable,), cycles=(cycle,)
    )


def _lines(steps: Sequence[Step]) -> tuple[model.Line, ...]:
    return tuple(model.Line(_plain(step.message), step.span) for step in steps)


def _plain(text: str) -> str:
    return text.replace("`", "")
