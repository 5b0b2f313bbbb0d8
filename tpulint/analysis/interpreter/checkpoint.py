"""What has been found since when, and whose fault costs what."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.values import Opaque
from tpulint.finding import Certainty


class Checkpoint:
    """Marks in the program's lists: a root can be read again without saying things twice."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.errors: list[str] = []

    def mark(self) -> tuple[int, ...]:
        """How much has been found so far."""
        return tuple(len(each) for each in self._found())

    def _found(self) -> tuple[list[Any], ...]:
        found = self.program
        return (
            found.computations,
            found.loose_clusters,
            found.calls,
            found.uses,
            found.accesses,
            found.feeds,
        )

    def forget_since(self, mark: tuple[int, ...]) -> None:
        for each, length in zip(self._found(), mark, strict=True):
            del each[length:]

    def opened_since(self, mark: tuple[int, ...]) -> bool:
        """Whether host clusters were opened since (those of a host_call need no more)."""
        kinds = {
            each.kind for made in self.program.computations[mark[0] :] for each in made.clusters
        }
        kinds |= {each.kind for each in self.program.loose_clusters[mark[1] :]}
        return any(kind.endswith("outside_compilation") for kind in kinds)

    def left_open_since(self, mark: tuple[int, ...]) -> bool:
        """Whether a computation since depends on what only callers know."""
        return any(
            made.certainty is Certainty.POSSIBLE or isinstance(made.callee, Opaque)
            for made in self.program.computations[mark[0] :]
        )

    @contextmanager
    def guarded(self, what: str) -> Iterator[None]:
        """A fault of the reader's own costs one root, never the run; it is said aloud."""
        try:
            yield
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{os.path.basename(last.filename)}:{last.lineno}"
            kind = type(error).__name__
            self.errors.append(f"internal error while reading {what}: {kind}: {error} ({place})")
