"""Text for people: excerpts of the source, safe characters, widths, wording and colours."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple, TextIO

from tpulint.finding import Applicability, Certainty, Finding, Span, Step
from tpulint.output.context import RenderContext

# The lines of a finding as they are shown: numbered, underlined, cut to the width.

TAB = "    "
MOST_ROWS = 5
CUT = "..."


class Excerpt(NamedTuple):
    """`rows` are (number or "...", text, underline or ""); numbers take `margin` columns."""

    margin: int
    rows: tuple[tuple[str, str, str], ...]


def excerpt(span: Span, context: RenderContext) -> Excerpt:
    """Return the spanned rows, at most MOST_ROWS, with one row before and after for context."""
    source = context.sources.get(span.filename)
    if source is None or not 0 < span.start.row <= len(source.lines):
        return Excerpt(2, ())
    cell, first = source.place(span.start.row)
    shift = span.start.row - first
    last = min(span.end.row, span.start.row + MOST_ROWS - 1)
    before = span.start.row - 1
    after = span.end.row + 1
    numbers = [*range(span.start.row, last + 1)]
    if first > 1 and source.line(before).strip():
        numbers.insert(0, before)
    is_cut = last < span.end.row
    is_text_after = after <= len(source.lines) and bool(source.line(after).strip())
    if not is_cut and is_text_after and source.place(after)[0] == cell:
        numbers.append(after)
    margin = max(len(str(number - shift)) for number in numbers)
    rows = []
    for number in numbers:
        line = source.line(number)
        start, end = marked(span, number, line)
        rows.append((str(number - shift), *clipped(line, start, end, context.width - margin - 3)))
    if is_cut:
        rows.append(("." * min(margin, 3), "", ""))
    return Excerpt(margin, tuple(rows))


def marked(span: Span, row: int, line: str) -> tuple[int, int]:
    """Return the stretch of the row to underline, 0-based and half open; empty beside the span."""
    if not span.start.row <= row <= span.end.row:
        return 0, 0
    indent = len(line) - len(line.lstrip())
    start = span.start.column - 1 if row == span.start.row else indent
    end = span.end.column - 1 if row == span.end.row else len(line.rstrip())
    if row == span.start.row:
        end = max(end, start + 1)
    return start, max(start, end)


def clipped(line: str, start: int, end: int, room: int) -> tuple[str, str]:
    """Return the line within `room` columns around its marked stretch, and the underline."""
    before, inside, rest = (shown(part) for part in (line[:start], line[start:end], line[end:]))
    if columns(before) + columns(inside) > room:
        keep = max(room // 4, 1)
        before = CUT + before[-keep:] if columns(before) > keep + 3 else before
    text = cut(before + inside + rest.rstrip(), room)
    width = min(columns(inside) or int(end > start), room - columns(before))
    underline = " " * columns(before) + "^" * max(width, 0) if end > start else ""
    return text, underline


def cut(text: str, room: int) -> str:
    if columns(text) <= room:
        return text
    while columns(text) > room - len(CUT):
        text = text[:-1]
    return f"{text}{CUT}"


def shown(text: str) -> str:
    """Tabs as blanks, control characters replaced: a file must not steer the terminal."""
    safe = text.replace("\t", TAB)
    if safe.isprintable():
        return safe
    return "".join(character if character.isprintable() else "\ufffd" for character in safe)


def columns(text: str) -> int:
    """Return the number of terminal columns that the text takes."""
    if text.isascii():
        return len(text)
    return sum(map(width, text))


def width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


# The wording that the formats for people share.


def one_line(message: str) -> str:
    return shown(" ".join(message.split()))


def lane_names(trace: Sequence[Step]) -> list[str]:
    """Return the lanes of a trace, the device first and the host after it."""
    names = dict.fromkeys(step.lane for step in trace)
    return sorted(names, key=lambda name: (name not in ("device", "host"), name == "host"))


def flags(finding: Finding) -> str:
    """Return `[possible] ` or `[unlikely] ` for what is not sure, `[*] ` for what --fix fixes."""
    is_sure = finding.certainty is Certainty.DEFINITE
    doubt = "" if is_sure else f"[{finding.certainty.value}] "
    return doubt + ("[*] " if is_safe(finding) else "")


def is_safe(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.applicability is Applicability.SAFE


# ANSI colours, and when to use them.

BOLD = "1"
RED, GREEN, YELLOW, BLUE, CYAN = "31", "32", "33", "34", "36"


def paint(text: str, *styles: str) -> str:
    return f"\x1b[{';'.join(styles)}m{text}\x1b[0m"


def styled(context: RenderContext, text: str, *styles: str) -> str:
    """Return the text in these styles, where the output is coloured."""
    return paint(text, *styles) if context.color and styles else text


# Terminals that show links, by a variable that they set.
_LINKING = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "DOMTERM", "GHOSTTY_BIN_DIR")
_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "Hyper", "ghostty", "rio", "Tabby")
_TERMS = ("xterm-kitty", "alacritty", "foot", "xterm-ghostty", "contour")


def shows_links(stream: TextIO) -> bool:
    """Return whether the stream is a terminal that shows links; FORCE_HYPERLINK decides."""
    environment = os.environ
    if environment.get("FORCE_HYPERLINK"):
        return environment["FORCE_HYPERLINK"] != "0"
    if not stream.isatty() or environment.get("CI"):
        return False
    vte = environment.get("VTE_VERSION", "")
    return (
        any(name in environment for name in _LINKING)
        or environment.get("TERM_PROGRAM") in _PROGRAMS
        or environment.get("TERM", "").startswith(_TERMS)
        or (vte.isdecimal() and int(vte) >= 5000)
    )


def wanted(stream: TextIO) -> bool:
    """Colour on a terminal only; NO_COLOR turns it off, FORCE_COLOR on (no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
