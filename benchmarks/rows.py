"""A row of a table of figures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One figure, what it is compared with, and the goal."""

    what: str
    ours: str
    compared_with: str
    theirs: str
    ratio: str
    goal: str
    met: bool


def compared(what: str, ours: float, theirs: float, of: str, limit: float) -> Row:
    """Two medians in seconds, and their ratio, which is to be at most `limit`."""
    ratio = ours / theirs
    met = ratio <= limit
    return Row(what, shown(ours), of, shown(theirs), f"{ratio:.2f}", f"at most {limit}", met)


def shown(seconds: float) -> str:
    """Return the time in the unit that suits it."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:,.1f} µs"
    return f"{seconds * 1e3:,.1f} ms" if seconds < 10 else f"{seconds:,.1f} s"
