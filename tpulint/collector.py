"""The garbage collector of Python, which finds next to nothing in an analysis.

Only what is left of a program when its findings are known is garbage, all of it in circles.
Python's own collector would look at all that is kept whenever much was made: in the middle of an
analysis, or before its result is sent. So whoever analyzes decides when it runs.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MAX_UNCOLLECTED_OBJECTS = 1_000_000  # of about 150 bytes: what is left of some 100,000 lines


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Collect no garbage meanwhile: that walks the summaries over and over, and finds nothing."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


def collect_if_many() -> None:
    """Give back the memory of programs that were analyzed, where they have left many objects.

    To collect after each program takes a seventh of the time that its analysis takes, and most
    runs end before their garbage matters. For a process that does not collect by itself.
    """
    if gc.get_count()[0] > MAX_UNCOLLECTED_OBJECTS:
        gc.collect()


def collect_and_freeze() -> None:
    """Collect everything, and leave what is kept now alone from here on.

    A server keeps the programs of a project: to look at them after each keystroke takes longer
    than the keystroke's check.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
