"""The garbage collector of Python, which finds next to nothing in an analysis.

Only what is left of a program when its findings are known is garbage, all of it in circles. Most of
these are cut, which takes a seventh of the time in which the collector finds them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tpulint.frontends.tensorflow.program import Program

MANY = 1_000_000  # objects, of about 150 bytes each: what is left of some 100,000 lines


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage meanwhile: that walks the summaries over and over, and finds nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def collect_if_many() -> None:
    """Give back the memory of programs that were analyzed, where they have left many objects.

    To collect after each program takes a seventh of the time that its analysis takes, and most
    runs end before their garbage matters.
    """
    if gc.get_count()[0] > MANY:
        gc.collect()


def take_apart_if_many(program: Program) -> None:
    """Give back most of the memory of a program that nobody asks any more.

    It takes time as well, so the first programs of a run are left as they are.
    """
    if gc.get_count()[0] > MANY // 2:
        modules = program.modules
        functions = [each for module in modules for each in module.facts.functions]
        summaries = [each.facts for each in modules]
        for part in (*functions, *summaries, *modules, *program.computations, program):
            vars(part).clear()
