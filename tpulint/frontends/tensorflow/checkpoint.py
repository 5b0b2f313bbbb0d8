"""The state of a program at some time, to which it returns so that a root can be read again."""

from __future__ import annotations

from collections.abc import Sized
from typing import Protocol

from tpulint.absint.domain.program import ProgramEvents
from tpulint.absint.domain.values import Opaque
from tpulint.finding import Certainty


class Shortenable(Sized, Protocol):
    """A list of anything."""

    def __delitem__(self, key: slice, /) -> None: ...


class Checkpoint:
    """The lengths of the program's lists when this was made."""

    def __init__(self, program: ProgramEvents) -> None:
        self._program = program
        self._lengths = [len(each) for each in self._lists()]

    def _lists(self) -> tuple[Shortenable, ...]:
        found = self._program
        return (
            found.computations,
            found.orphan_clusters,
            found.calls,
            found.uses,
            found.accesses,
            found.feeds,
        )

    def roll_back(self) -> None:
        """Forget what was found since."""
        for each, length in zip(self._lists(), self._lengths, strict=True):
            del each[length:]

    def opened_clusters(self) -> bool:
        """Return whether host clusters were opened since (those of a host_call need no more)."""
        computations, loose = self._lengths[:2]
        kinds = {
            each.kind
            for made in self._program.computations[computations:]
            for each in made.clusters
        }
        kinds |= {each.kind for each in self._program.orphan_clusters[loose:]}
        return any(kind.endswith("outside_compilation") for kind in kinds)

    def has_call(self, name: str) -> bool:
        """Return whether a computation since calls what has that last name."""
        return any(
            call.last == name
            for made in self._program.computations[self._lengths[0] :]
            for call in made.calls
        )

    def left_open(self) -> bool:
        """Return whether a computation since depends on what only callers know."""
        return any(
            made.certainty is Certainty.POSSIBLE or isinstance(made.callee, Opaque)
            for made in self._program.computations[self._lengths[0] :]
        )

    def left_argument_open(self) -> bool:
        """Return whether callers give the function of a TPU's computation since, or its input."""
        computations = self._program.computations[self._lengths[0] :]
        return any(
            made.certainty is Certainty.DEFINITE and isinstance(made.callee, Opaque)
            for made in computations
        ) or any(
            isinstance(feed.function or feed.data, Opaque)
            for feed in self._program.feeds[self._lengths[-1] :]
        )
