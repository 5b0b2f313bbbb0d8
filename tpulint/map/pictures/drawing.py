"""The parts of a drawn picture: boxes, arrows, frames and words, with their coordinates.

All text is set in a monospaced font, so that its width is known without a browser.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

from tpulint.finding import Span
from tpulint.output.text import columns, cut, shown

SIZE, SMALL = 12, 11  # of the letters, in pixels
ADVANCE = 0.61  # of a letter, in its size: a little more than any common monospaced font has
LEADING = 16  # from line to line
PAD = 10  # inside a box
ROWS = 3  # of a line in a box


@dataclass(frozen=True)
class Words:
    """A line of text. full: what it says where it was cut, else empty."""

    x: float
    y: float
    text: str
    style: str = ""
    anchor: str = "start"
    full: str = ""
    span: Span | None = None


@dataclass(frozen=True)
class Box:
    """A rectangle with lines of text; `span` is where it leads."""

    x: float
    y: float
    width: float
    height: float
    style: str
    words: tuple[Words, ...]
    span: Span | None = None

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True)
class Arrow:
    """A line from point to point. ends: heads at "end", "start", "both" or "none"."""

    points: tuple[tuple[float, float], ...]
    style: str = ""
    ends: str = "end"


@dataclass
class Drawing:
    """A picture; what is drawn first is below."""

    width: float
    height: float = 0.0
    title: str = ""
    frames: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)


def letters(width: float, size: int = SIZE) -> int:
    """Return how many letters fit."""
    return max(int(width / (size * ADVANCE)), 1)


def fitted(text: str, width: float, size: int = SIZE) -> tuple[str, str]:
    """Return the text as far as it fits, and the whole of it where it does not."""
    text = shown(text)
    fits = cut(text, letters(width, size))
    return fits, text if fits != text else ""


@dataclass(frozen=True)
class Said:
    """A line for a box, before it is placed."""

    text: str
    style: str = ""
    span: Span | None = None


def width_of(said: list[Said]) -> float:
    """Return the width that the lines take."""
    return max((columns(shown(each.text)) for each in said), default=0) * SIZE * ADVANCE + 1


def boxed(
    said: list[Said], x: float, y: float, width: float, style: str, span: Span | None = None
) -> Box:
    """Return a box as high as its lines, each in ROWS rows at most."""
    words = []
    top = y + PAD + SIZE - 2
    for each in said:
        for row, full in _rows(each.text, width - 2 * PAD):
            words.append(Words(x + PAD, top, row, each.style, full=full, span=each.span))
            top += LEADING
    return Box(x, y, width, 2 * PAD + LEADING * len(words) - 4, style, tuple(words), span)


def as_high(box: Box, height: float) -> Box:
    """Return the box with that height."""
    return Box(box.x, box.y, box.width, height, box.style, box.words, box.span)


def _rows(text: str, width: float) -> list[tuple[str, str]]:
    """Return the rows of a line; where some are cut away, the last one has the whole with it."""
    most, text = letters(width), shown(text)
    if columns(text) <= most:
        return [(text, "")]
    rows = textwrap.wrap(text, most, subsequent_indent="  ")
    if len(rows) <= ROWS and all(columns(each) <= most for each in rows):
        return [(each, "") for each in rows]
    last = " ".join([rows[ROWS - 1], *(each.strip() for each in rows[ROWS:])])
    kept = [fitted(each, width)[0] for each in rows[: ROWS - 1]]
    return [*((each, "") for each in kept), (fitted(last, width)[0], text)]
