"""Variables that a host cluster and the device program around it both touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.absint.domain.context import cover
from tpulint.absint.domain.events import TOUCHES, Access, Cluster, Computation, Context, Variable
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.branch_tests import words_of
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import scope_strategy
from tpulint.ordering import NEVER_AWAITED, Phase, Placement, is_stale
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.queries.device_code import is_certain_access, is_in_own_round, share_loop
from tpulint.queries.happens_before import order_of


@dataclass(frozen=True)
class Conflict:
    """`host` is in `cluster`, `device` in the device code of the same computation.

    when: the part of the step in which `host` runs. stale: a side does not see in time what the
    other writes, though none waits. certainty: of the two being one variable, both reached on one
    run, and of what is said of their order.
    """

    computation: Computation
    cluster: Cluster
    host: Access
    device: Access
    when: Phase
    stale: bool
    certainty: Certainty

    @property
    def variable(self) -> Variable:
        return self.host.variable

    @property
    def waits(self) -> bool:
        """Return whether the device program waits for the cluster while it holds the variable."""
        return self.when is Phase.AWAITED

    @property
    def of_step(self) -> bool:
        """Return whether this is about a step that the computation counts."""
        return self.variable.sort == "step" and self.device.mode == "write"


def conflicts(program: Program) -> Iterator[Conflict]:
    """Yield one for every touch in a host cluster of what the device touches too."""
    for computation in program.computations:
        held: dict[int, list[Access]] = {}
        for device in computation.accesses:
            if device.context.cluster is None and device.mode in TOUCHES:
                held.setdefault(id(device.variable), []).append(device)
                if device.variable.whole is not None:
                    held.setdefault(id(device.variable.whole), []).append(device)
        for host in host_touches(computation):
            # Of the weights that hold the variable: what touches them all, not others among them.
            whole = host.variable.whole
            of_whole = [other for other in held.get(id(whole), []) if other.variable is whole]
            others = [
                other
                for other in (*held.get(id(host.variable), ()), *of_whole)
                if not other.context.excludes(host.context)
            ]
            # A step that both sides read, and neither counts, conflicts with nothing.
            is_written = any(access.mode == "write" for access in [host, *others])
            if others and (is_written or host.variable.sort != "step"):
                yield _conflict(program, computation, host, others)


def host_touches(computation: Computation) -> Iterator[Access]:
    """Yield the reads and writes in the host clusters of `computation`."""
    for access in computation.accesses:
        if access.context.cluster is not None and access.mode in TOUCHES:
            yield access


def _conflict(
    program: Program, computation: Computation, host: Access, others: list[Access]
) -> Conflict:
    cluster = host.context.cluster
    assert cluster is not None
    placement = order_of(program, computation).placement(host) or NEVER_AWAITED
    unseen = [other for other in others if _misses(host, other, placement)]
    device = _surest(unseen or others, host, computation)
    # Each run that reaches `host` may reach a touch like `device`, by any branch.
    like = [it.context for it in unseen or others if it.mode == device.mode != "unknown"]
    is_certain = (
        is_on_tpu(computation, host.context)
        and placement.is_definite
        and (_together(device, host, computation) or cover(like, host.context))
        and is_certain_access(host)
        and is_in_own_round(host.variable, device.context)
    )
    if placement.when is Phase.BEFORE:
        is_certain = is_certain and _is_earlier(device, host)
    return Conflict(
        computation, cluster, host, device, placement.when, bool(unseen), definite_if(is_certain)
    )


def _misses(host: Access, device: Access, placement: Placement) -> bool:
    """Return whether one comes too late, or too early, for what the other writes."""
    if "write" not in (host.mode, device.mode):
        return False
    return is_stale(
        placement,
        host_reads=host.mode == "read",
        device_is_earlier=_is_earlier(device, host) or share_loop(device.context, host.context),
        host_is_earlier=_is_earlier(host, device),
    )


def _is_earlier(left: Access, right: Access) -> bool:
    """Return whether `left` comes first as the program reads."""
    first, other = left.operation, right.operation
    return first is not None and other is not None and first.number < other.number


def _surest(others: list[Access], host: Access, computation: Computation) -> Access:
    """Return the touch on the device that says most: sure before unsure, a write before a read.

    Of a step, where it is counted.
    """
    step = host.variable.sort == "step"
    return min(
        others,
        key=lambda other: (
            step and other.mode != "write",
            not _together(other, host, computation),
            other.mode != "write",
            other.mode != "read",
        ),
    )


def _together(device: Access, host: Access, computation: Computation) -> bool:
    """Return whether each run that reaches `host` reaches `device`, or each that trains does."""
    if device.mode == "unknown":
        return False
    return device.context.reached_whenever(host.context) or (
        computation.kind == tf_names.MODEL_FN and _trains(device.context, host.context)
    )


def _trains(device: Context, host: Context) -> bool:
    """Return whether a test for training is all that decides whether `host` meets `device`."""
    return not (device.excludes(host) or device.is_other_branch(host)) and all(
        any(
            naming.TRAINING.is_in(word.name) and word.is_affirmed is branch
            for word in words_of(key)
        )
        for key, branch in device.choices_beyond(host)
    )


def is_on_device(variable: Variable) -> bool:
    """Return whether the variable belongs to the scope of a strategy that is or may be a TPU's."""
    strategy = scope_strategy(variable.made)
    return strategy is not None and strategy.kind != "other"


def certainty_of_touch(computation: Computation, access: Access) -> Certainty:
    """Return how sure it is that a host cluster touches a variable of a TPU's scope here."""
    strategy = scope_strategy(access.variable.made)
    # A strategy that is a parameter may be one whose variables live on the host.
    is_tpus = strategy is not None and strategy.kind == "tpu"
    return definite_if(is_tpus, is_certain_access(access), is_on_tpu(computation, access.context))
