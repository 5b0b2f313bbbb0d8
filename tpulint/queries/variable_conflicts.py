"""Variables that a host cluster and the device program around it both touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.analysis.domain.context import LOOP
from tpulint.analysis.domain.events import Access, Cluster, Computation, Context, Variable
from tpulint.analysis.domain.program import Program
from tpulint.finding import Certainty

TOUCHES = ("read", "write", "unknown")


@dataclass(frozen=True)
class Conflict:
    """`host` is in `cluster`, `device` in the device code of the same computation.

    waits: the device program waits for the cluster while it holds the variable.
    certainty: of the two being one variable, both reached on one run, and of `waits`.
    """

    computation: Computation
    cluster: Cluster
    host: Access
    device: Access
    waits: bool
    certainty: Certainty

    @property
    def variable(self) -> Variable:
        return self.host.variable

    @property
    def changes(self) -> bool:
        """Return whether a side writes: two that only read do not disagree."""
        return "write" in (self.host.mode, self.device.mode)

    @property
    def of_step(self) -> bool:
        """Return whether this is about a step that the computation counts."""
        return self.variable.sort == "step" and self.device.mode == "write"


def conflicts(program: Program) -> Iterator[Conflict]:
    """One for every touch in a host cluster of what the device touches too."""
    for computation in program.computations:
        held: dict[int, list[Access]] = {}
        for each in computation.accesses:
            if each.context.cluster is None and each.mode in TOUCHES:
                held.setdefault(id(each.variable), []).append(each)
                if each.variable.whole is not None:
                    held.setdefault(id(each.variable.whole), []).append(each)
        for each in host_touches(computation):
            others = [
                other
                for other in _on_the_same(held, each.variable)
                if not other.context.excludes(each.context)
            ]
            if others and not _only_asked(each, others):
                yield _conflict(computation, each, _surest(others, each))


def _on_the_same(held: dict[int, list[Access]], variable: Variable) -> list[Access]:
    """The touches of the variable, of the weights it is one of, and of those that it holds."""
    of_whole = held.get(id(variable.whole), [])
    whole = [each for each in of_whole if each.variable is variable.whole]
    return [*held.get(id(variable), []), *whole]


def _only_asked(host: Access, others: list[Access]) -> bool:
    """Return whether this is a step that both sides read and neither counts."""
    asked = all(each.mode != "write" for each in [host, *others])
    return host.variable.sort == "step" and asked


def host_touches(computation: Computation) -> Iterator[Access]:
    """The reads and writes in the host clusters of `computation`."""
    for each in computation.accesses:
        if each.context.cluster is not None and each.mode in TOUCHES:
            yield each


def _surest(others: list[Access], host: Access) -> Access:
    """The touch on the device that tells most: sure before unsure, a write before a read.

    Of a step, where it is counted.
    """
    step = host.variable.sort == "step"
    return min(
        others,
        key=lambda each: (
            step and each.mode != "write",
            not _together(each, host),
            each.mode != "write",
            each.mode != "read",
        ),
    )


def _together(device: Access, host: Access) -> bool:
    return device.mode != "unknown" and device.context.reached_whenever(host.context)


def _conflict(computation: Computation, host: Access, device: Access) -> Conflict:
    cluster = host.context.cluster
    assert cluster is not None
    sure = (
        computation.certainty is Certainty.DEFINITE
        and _together(device, host)
        and is_sure(host)
        and is_one_object(host.variable, device.context)
    )
    waited = cluster.waits(host.context)
    waits = waited is not None and (cluster.computed_inputs or cluster.vague)
    if waits:
        sure = sure and waited is Certainty.DEFINITE and cluster.computed_inputs
    certainty = Certainty.DEFINITE if sure else Certainty.POSSIBLE
    return Conflict(computation, cluster, host, device, waits, certainty)


def is_sure(access: Access) -> bool:
    """Return whether it is known that this variable, and no other, is touched at this place."""
    return (
        not access.variable.assumed
        and access.mode != "unknown"
        and not access.context.is_guess
        and is_one_object(access.variable, access.context)
    )


def is_one_object(variable: Variable, context: Context) -> bool:
    """Return whether what a Python loop made, read once for all its rounds, is taken in its own
    round.
    """
    if variable.made is None:
        return True
    around = {id(scope) for scope in context.scopes}
    return all(id(scope) in around for scope in variable.made.scopes if scope.kind == LOOP)


def is_on_device(variable: Variable) -> bool:
    """Return whether the variable belongs to the scope of a strategy that is or may be a TPU's."""
    return variable.strategy is not None and variable.strategy.kind != "other"
