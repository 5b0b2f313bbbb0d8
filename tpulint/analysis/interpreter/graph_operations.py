"""The operations of a computation's graph, recorded while the program is read.

What an operation takes is met before the operation itself, at the same site of the same call: its
tensors, and the reads of its variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tpulint.analysis.domain.events import Context, Operation
from tpulint.analysis.domain.site import CallStep, Site


class GraphOperations:
    """The maker of the operations of one reading; it remembers what the next one takes."""

    def __init__(self) -> None:
        self._count = 0
        self._where: tuple[Site, tuple[object, ...]] | None = None
        self._calls: Sequence[CallStep] = ()
        self._taken: list[Operation] = []
        self._touched: list[Operation] = []
        self._written: list[Operation] = []

    def take(self, operation: Operation | None, context: Context, site: Site) -> None:
        """Note that the operation at `site` takes a result of `operation`."""
        if operation is not None and context.computation is not None:
            self._begin(context, site)
            self._taken.append(operation)

    def touch(
        self, context: Context, site: Site, mode: str, after: Operation | None
    ) -> Operation | None:
        """Return the operation that touches a variable: what writes takes what was given."""
        if context.computation is None:
            return None
        self._begin(context, site)
        given = [] if mode == "read" else [*self._taken, *self._touched]
        made = self._make(context, given, mode == "unknown")
        made.after = (after,) if after is not None else ()
        (self._written if mode == "write" else self._touched).append(made)
        return made

    def result(
        self, taken: Iterable[Operation | None], context: Context, site: Site, unseen: bool
    ) -> Operation | None:
        """Return the operation that makes a tensor at `site` of `taken` and what was touched.

        What a write gives is a read that waits for it, so no data crosses between the two.
        """
        # `_UnreadVariable` of tensorflow/python/ops/resource_variable_ops.py.
        if context.computation is None:
            return None
        self._begin(context, site)
        known = [each for each in taken if each is not None]
        made = self._make(context, [*known, *self._touched], unseen)
        made.after = tuple(self._written)
        return made

    def _begin(self, context: Context, site: Site) -> None:
        where = site, context.scopes.rounds
        if where != self._where or context.call_chain is not self._calls:
            self._where, self._calls = where, context.call_chain
            self._taken, self._touched, self._written = [], [], []

    def _make(self, context: Context, sources: Iterable[Operation], unseen: bool) -> Operation:
        made = Operation(self._count, context, tuple(dict.fromkeys(sources)), unseen=unseen)
        self._count += 1
        if context.computation is not None and not context.muted:
            context.computation.operations.append(made)
        return made
