"""Garbage is collected after an answer was sent, and never before one.

A program that was read is full of circles. Python's own collector would look at all that is kept
whenever much was made: in the middle of an analysis, or before its result is sent.
"""

from __future__ import annotations

import gc


def collect_by_hand() -> None:
    """Take the collector's work over, for as long as the process lives."""
    gc.disable()


def collect_new() -> None:
    """Collect what has become garbage since all was looked at."""
    gc.collect()


def collect_all() -> None:
    """Collect everything, and leave what is kept now alone from here on."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
