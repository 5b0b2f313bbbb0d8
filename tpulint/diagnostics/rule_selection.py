"""Select codes by layers of select, extend-select and ignore, with ruff's precedence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tpulint.codes import CODES, codes_of

UNPARSED = "TPU001"


class RuleSelection(NamedTuple):
    """One source of selectors; a later source's `select` starts over."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def selected(layers: Sequence[RuleSelection]) -> frozenset[str]:
    """Return the codes asked for. In one layer the longer selector wins, and `ignore` a draw.

    A file that cannot be parsed was not checked, whatever was selected: only `ignore` silences
    TPU001.
    """
    chosen = set(CODES)
    for layer in layers:
        if layer.select is not None:
            chosen = {UNPARSED}
        wanted = (*(layer.select or ()), *layer.extend_select)
        for length in sorted({len(prefix(each)) for each in (*wanted, *layer.ignore)}):
            chosen |= expand(each for each in wanted if len(prefix(each)) == length)
            chosen -= expand(each for each in layer.ignore if len(prefix(each)) == length)
    return frozenset(chosen)


def expand(selectors: Iterable[str]) -> frozenset[str]:
    """All codes that one of the selectors means."""
    return frozenset().union(*map(codes_of, selectors))


def prefix(selector: str) -> str:
    return "" if selector == "ALL" else selector
