"""Text that is no Python on purpose: an exercise with blanks to fill, a transcript of a session."""

from __future__ import annotations

import re

PROMPT = re.compile(r"\s*(?:>>> |In ?\[\d*\]: )")
BLANK = re.compile(
    r"[=(,:]\s*#|#.*\b(?:to-?do|fixme|your\s+(?:code|solution)|fill\s+in|complete\s+the)\b",
    re.IGNORECASE,
)
NEAR = 2  # rows before the one where a parser gives up


def is_unfinished(text: str, row: int) -> bool:
    """Return whether the text, which a parser refused at `row`, is not meant to be parsed."""
    if PROMPT.match(text):
        return True
    lines = text.split("\n")
    return any(BLANK.search(line) for line in lines[max(row - 1 - NEAR, 0) : row])
