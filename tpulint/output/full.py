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
    lane_names,
    one_line,
    shown,
    styled,
)


def render_full(findings: Sequence[Finding], context: RenderContext) -> str:
    blocks = [block(finding, context) + "\n" for finding in findings]
    hint = f"Run `tpulint rule {findings[0].code}` to read about it.\n" if findings else ""
    return "".join(blocks) + summary(findings, context) + ("" if context.quiet else hint)


def block(finding: Finding, context: RenderContext) -> str:
    """Return one finding: what, where, the lines, the lanes, and how to fix it."""
    code = CODES.get(finding.code)
    name = f"{code.name}: " if code else ""
    title = f"{name}{flags(finding)}{one_line(finding.message)}"
    first, *more = textwrap.wrap(title, context.width - 7, break_long_words=False)
    mark = styled(context, finding.code, RED, BOLD)
    if context.links and code and code.url:  # an OSC 8 link to the page of the rule
        mark = f"\x1b]8;;{code.url}\x1b\\{mark}\x1b]8;;\x1b\\"
    lines = [f"{mark} {styled(context, first, BOLD)}"]
    lines += [f"       {styled(context, line, BOLD)}" for line in more]
    part = excerpt(finding.span, context)
    margin = " " * part.margin
    lines.append(f"{margin}{styled(context, '-->', BLUE)} {shown(context.short(finding.span))}")
    for row, text, under in part.rows:
        lines.append(f"{styled(context, f'{row:>{part.margin}} |', BLUE)} {text}".rstrip())
        if under:
            bar = styled(context, f"{margin} |", BLUE)
            lines.append(f"{bar} {styled(context, under, RED, BOLD)}")
    if finding.trace:
        lines += ["", *(f"  {line}".rstrip() for line in lanes(finding.trace, context))]
    if finding.fix is not None:
        text = f"{finding.fix.message} ({finding.fix.applicability.value} fix)"
        first, *more = textwrap.wrap(text, context.width - 6, break_long_words=False)
        lines += ["", f"{styled(context, 'help:', CYAN, BOLD)} {first}"]
        lines += [f"      {line}" for line in more]
    return "\n".join(lines) + "\n"


# A trace as two columns, time running down: what the device does, what the host does.
#
# device                          | host
# --------------------------------+-------------------------------
# 1 model.py:12                   |
#       v.assign_add(1.0)         |
#   holds `v` until it returns    |
#                                 | 2 model.py:8
#                                 |       v.read_value()

INDENT = 2
GAP = " | "
SOURCE_INDENT = "    "
LEAST = 32


def lanes(trace: Sequence[Step], context: RenderContext) -> list[str]:
    """Return the lines of the picture, within the context's width less INDENT."""
    names = lane_names(trace)
    room = (context.width - INDENT - len(GAP) * (len(names) - 1)) // len(names)
    if room < LEAST or len(names) == 1:
        return blocks(names, trace, context)
    empty = [" " * room] * len(names)
    heads = (
        styled(context, name, *lane_style(name)) + " " * (room - columns(name)) for name in names
    )
    lines = [GAP.join(heads), "-+-".join("-" * room for _ in names)]
    previous = trace[0].lane
    for number, step in enumerate(trace, 1):
        if step.lane != previous:
            lines.append(GAP.join(empty))
        previous = step.lane
        at = names.index(step.lane)
        for text, styles in step_lines(step, number, room, context):
            cell = styled(context, text, *styles) + " " * (room - columns(text))
            lines.append(GAP.join([*empty[:at], cell, *empty[at + 1 :]]))
    return lines


def blocks(names: Sequence[str], trace: Sequence[Step], context: RenderContext) -> list[str]:
    """Return one labelled block per lane, where columns would be too narrow or alone."""
    lines: list[str] = []
    room = context.width - INDENT
    for name in names:
        lines += [""] if lines else []
        lines += [styled(context, name, *lane_style(name)), "-" * len(name)]
        for number, step in enumerate(trace, 1):
            if step.lane == name:
                step_rows = step_lines(step, number, room, context)
                lines += [styled(context, text, *styles) for text, styles in step_rows]
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


def lane_style(name: str) -> tuple[str, ...]:
    return BOLD, CYAN if name == "device" else YELLOW
