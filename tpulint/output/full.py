"""Each finding with its source, and below it what device and host do, side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tpulint.codes import CODES
from tpulint.finding import Finding, Step
from tpulint.output.context import RenderContext
from tpulint.output.summary import summary
from tpulint.output.text import (
    BLUE,
    BOLD,
    CUT,
    CYAN,
    RED,
    YELLOW,
    columns,
    cut,
    excerpt,
    flags,
    link,
    one_line,
    paint,
    shown,
)


def render_full(findings: Sequence[Finding], context: RenderContext) -> str:
    blocks = [block(finding, context) + "\n" for finding in findings]
    hint = f"Run `tpulint rule {findings[0].code}` to read about it.\n" if findings else ""
    return "".join(blocks) + summary(findings, context) + ("" if context.quiet else hint)


def block(finding: Finding, context: RenderContext) -> str:
    """Return one finding: what, where, the lines, the lanes, and how to fix it."""
    styled = paint if context.color else unpainted
    name = CODES[finding.code].name if finding.code in CODES else ""
    title = f"{f'{name}: ' if name else ''}{flags(finding)}{one_line(finding.message)}"
    first, *more = textwrap.wrap(title, context.width - 7, break_long_words=False)
    lines = [f"{linked(styled(finding.code, RED, BOLD), finding, context)} {styled(first, BOLD)}"]
    lines += [f"       {styled(line, BOLD)}" for line in more]
    part = excerpt(finding.span, context)
    margin = " " * part.margin
    lines.append(f"{margin}{styled('-->', BLUE)} {shown(context.short(finding.span))}")
    for mark, text, underline in part.rows:
        lines.append(f"{styled(f'{mark:>{part.margin}} |', BLUE)} {text}".rstrip())
        if underline:
            lines.append(f"{styled(f'{margin} |', BLUE)} {styled(underline, RED, BOLD)}")
    if finding.trace:
        lines += ["", *(f"  {line}".rstrip() for line in lanes(finding.trace, context))]
    if finding.fix is not None:
        text = f"{finding.fix.message} ({finding.fix.applicability.value} fix)"
        first, *more = textwrap.wrap(text, context.width - 6, break_long_words=False)
        lines += ["", f"{styled('help:', CYAN, BOLD)} {first}", *(f"      {row}" for row in more)]
    return "\n".join(lines) + "\n"


def linked(text: str, finding: Finding, context: RenderContext) -> str:
    """Return the text as a link to the page of the rule, where the terminal shows links."""
    url = CODES[finding.code].url if finding.code in CODES else ""
    return link(text, url) if context.links and url else text


def unpainted(text: str, *styles: str) -> str:
    return text


# A trace as two columns, time running down: what the device does, what the host does.
#
# device                          | host
# --------------------------------+-------------------------------
# 1 model.py:12                   |
# v.assign_add(1.0)         |
# holds `v` until it returns    |
# | 2 model.py:8
# |       v.read_value()

INDENT = 2
GAP = " | "
SOURCE_INDENT = "    "
LEAST = 32


def lanes(trace: Sequence[Step], context: RenderContext) -> list[str]:
    """Return the lines of the picture, within the context's width less INDENT."""
    names = list(dict.fromkeys(step.lane for step in trace))
    names.sort(key=lambda name: (name not in ("device", "host"), name == "host"))
    room = (context.width - INDENT - len(GAP) * (len(names) - 1)) // len(names)
    if room < LEAST:
        return blocks(names, trace, context)
    if len(names) == 1:
        return blocks(names, trace, context)
    lines = [GAP.join(pad(name, room, lane_style(name), context) for name in names)]
    lines.append("-+-".join("-" * room for _ in names))
    previous = None
    for number, step in enumerate(trace, 1):
        if previous is not None and step.lane != previous:
            lines.append(GAP.join(" " * room for _ in names))
        previous = step.lane
        for text, styles in step_lines(step, number, room, context):
            cells = [" " * room] * len(names)
            cells[names.index(step.lane)] = pad(text, room, styles, context)
            lines.append(GAP.join(cells))
    return lines


def blocks(names: Sequence[str], trace: Sequence[Step], context: RenderContext) -> list[str]:
    """Return one labelled block per lane, where columns would be too narrow or alone."""
    lines: list[str] = []
    room = context.width - INDENT
    for name in names:
        lines += [""] if lines else []
        lines += [styled(name, lane_style(name), context), "-" * len(name)]
        for number, step in enumerate(trace, 1):
            if step.lane == name:
                step_rows = step_lines(step, number, room, context)
                lines += [styled(*line, context) for line in step_rows]
    return lines


def step_lines(
    step: Step, number: int, room: int, context: RenderContext
) -> list[tuple[str, tuple[str, ...]]]:
    """Return the place of a step, its source line and its message, each with its styles."""
    cell, start = context.place(step.span.filename, step.span.start)
    inside = f"cell {cell}:" if cell is not None else ""
    where = shown(f"{step.span.filename}:{inside}{start.row}")
    margin = " " * (len(str(number)) + 1)
    if len(margin + where) > room:
        where = f"...{where[len(margin) + 3 - room :]}"
    rows: list[tuple[str, tuple[str, ...]]] = [(f"{number} {where}", (BLUE,))]
    line = source_line(step, room - len(margin) - len(SOURCE_INDENT), context)
    if line:
        rows.append((f"{margin}{SOURCE_INDENT}{line}", (BOLD,)))
    for part in textwrap.wrap(shown(" ".join(step.message.split())), room - len(margin)):
        rows.append((margin + part, ()))
    return rows


def source_line(step: Step, room: int, context: RenderContext) -> str:
    """Return the step's row; where it does not fit, a window that holds the step's own stretch."""
    line = context.line(step.span.filename, step.span.start.row).rstrip()
    indent = len(line) - len(line.lstrip())
    whole = shown(line[indent:])
    first = step.span.start.column - 1 - indent
    last = step.span.end.column - 1 - indent
    if step.span.end.row > step.span.start.row:
        last = len(whole)
    if columns(whole) <= room or columns(whole[:last]) <= room - len(CUT):
        return cut(whole, room)
    begin = max(min(first, last - room + 2 * len(CUT)), 0)
    return cut(f"{CUT}{whole[begin:]}" if begin else whole, room)


def pad(text: str, room: int, styles: tuple[str, ...], context: RenderContext) -> str:
    return styled(text, styles, context) + " " * max(room - columns(text), 0)


def lane_style(name: str) -> tuple[str, ...]:
    return BOLD, CYAN if name == "device" else YELLOW


def styled(text: str, styles: tuple[str, ...], context: RenderContext) -> str:
    return paint(text, *styles) if context.color and styles else text
