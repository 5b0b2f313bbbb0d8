"""TPU304: a control_dependencies block that creates no operation."""

from __future__ import annotations

from collections import defaultdict

from tpulint.absint.domain.events import Dependencies
from tpulint.absint.domain.objects import Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import Value
from tpulint.finding import Certainty, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.rules.base import Report, Rule, register


@register
class LostControlDependency(Rule):
    code = "TPU304"
    name = "lost-control-dependency"
    severity = Severity.WARNING
    summary = "a control_dependencies block that creates no operation"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            # tf.function adds control dependencies by itself (auto_control_deps.py).
            if computation.mode != "graph":
                continue
            by_place: dict[Site, list[Dependencies]] = defaultdict(list)
            for block in computation.dependencies:
                if not _is_redundant(block):
                    by_place[block.site].append(block)
            for site, blocks in by_place.items():
                # One block is read once per context; in one of them it may create something.
                if any(block.operations for block in blocks):
                    continue
                are_known = all(_is_known(block) for block in blocks)
                report(
                    site.span,
                    "no operation is created in this block, so its control dependencies have no"
                    " effect: pass the result through `tf.identity` inside it",
                    certainty=computation.certainty if are_known else Certainty.POSSIBLE,
                )


def _is_redundant(block: Dependencies) -> bool:
    """Return whether nothing is lost: none is asked for, all are returned, tf.function orders."""
    inputs = block.inputs
    # `control_dependencies([])` asks for nothing, so nothing is lost.
    empty = isinstance(inputs, Sequence) and not inputs.items and not inputs.open
    return empty or block.context.traced or _returns_all(block)


def _returns_all(block: Dependencies) -> bool:
    """Return whether the block returns the dependencies themselves, so that its users have them."""
    if not isinstance(block.inputs, Sequence) or block.inputs.open or not block.returned:
        return False
    inputs = {id(item) for item in block.inputs.items}
    returned = [_flat(value) for value in block.returned]
    return all(inputs <= {id(value) for value in values} for values in returned)


def _flat(value: Value) -> list[Value]:
    return list(value.items) if isinstance(value, Sequence) else [value]


def _is_known(block: Dependencies) -> bool:
    """Return whether something is asked for: a list that a loop fills may stay empty."""
    inputs = block.inputs
    return isinstance(inputs, Sequence) and not inputs.open
