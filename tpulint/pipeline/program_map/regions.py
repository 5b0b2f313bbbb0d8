"""The control flow around an event, as regions of a picture."""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.analysis.domain.context import COND, LOOP, WHILE, Scope
from tpulint.analysis.domain.events import Context
from tpulint.output.program_map.model import MapRegion
from tpulint.queries.graph_regions import scopes_of

DEPTH = 3  # regions within regions


class Regions:
    """The bodies of a computation by key; those that `kept` does not name are folded away."""

    def __init__(self, kept: frozenset[str] | None = None) -> None:
        self.kept = kept
        self.met: dict[str, MapRegion] = {}
        self._unrolled: set[str] = set()
        self._branches: dict[tuple[object, int], list[Scope]] = {}

    def around(self, context: Context) -> tuple[str, ...]:
        """Return the keys of the regions around a place, outermost first."""
        keys = [self._key(each) for each in scopes_of(context) if each.kind in (COND, WHILE, LOOP)]
        if self.kept is not None:
            keys = [each for each in keys if each in self.kept]
        return tuple(dict.fromkeys(keys))[:DEPTH]

    def on_tensors(self) -> frozenset[str]:
        """The keys of the bodies that TensorFlow traces: not those of Python's own loops."""
        return frozenset(self.met) - self._unrolled

    def shown(self, keys: Iterable[str]) -> tuple[MapRegion, ...]:
        """Return the regions of those keys, in the order of the program."""
        wanted = frozenset(keys)
        return tuple(each for key, each in self.met.items() if key in wanted)

    def _key(self, scope: Scope) -> str:
        span = scope.site.span if scope.site.place >= 0 else None
        branch = self._branch(scope) if scope.kind == COND else 0
        where = f"{span.filename}:{span.start.row}:{span.start.column}" if span else "?"
        key = f"{scope.kind}{branch or ''} {where}"
        if key not in self.met:
            self.met[key] = MapRegion(key, _title(scope, branch), span)
            if scope.kind == LOOP:
                self._unrolled.add(key)
        return key

    def _branch(self, scope: Scope) -> int:
        """Return which branch of its conditional this is, from 1."""
        known = self._branches.setdefault((scope.site, id(scope.payload)), [])
        if not any(each is scope for each in known):
            known.append(scope)
        return next(number for number, each in enumerate(known, 1) if each is scope)


def _title(scope: Scope, branch: int) -> str:
    if scope.kind == COND:
        return f"branch {branch} of {'an `if`' if scope.autograph else 'a conditional'} on a tensor"
    if scope.kind == LOOP:
        return "Python loop, unrolled"
    return "loop on a tensor" if scope.autograph else "loop on the device"
