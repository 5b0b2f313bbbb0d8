"""ANSI colours, and when to use them."""

from __future__ import annotations

import os
from typing import TextIO

BOLD = "1"
RED, GREEN, YELLOW, BLUE, CYAN = "31", "32", "33", "34", "36"


def paint(text: str, *styles: str) -> str:
    return f"\x1b[{';'.join(styles)}m{text}\x1b[0m"


def wanted(stream: TextIO) -> bool:
    """Colour on a terminal only; NO_COLOR turns it off, FORCE_COLOR on (no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
