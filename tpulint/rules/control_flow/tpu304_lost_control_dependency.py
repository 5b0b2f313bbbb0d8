"""TPU304: a control_dependencies block that creates no operation."""

from __future__ import annotations

from collections import defaultdict

from tpulint.absint.domain.events import Dependencies
from tpulint.absint.domain.objects import Sequence
from tpulint.absint.domain.site import Site
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register


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
                # Something is asked for: a list that a loop fills may stay empty.
                are_known = all(
                    isinstance(block.inputs, Sequence) and not block.inputs.open for block in blocks
                )
                report(
                    site.span,
                    "no operation is created in this block, so its control dependencies have no"
                    " effect: pass the result through `tf.identity` inside it",
                    certainty=computation.certainty if are_known else Certainty.POSSIBLE,
                )


def _is_redundant(block: Dependencies) -> bool:
    """Return whether nothing is lost: none is asked for, all are returned, tf.function orders."""
    inputs = block.inputs
    if block.context.traced:
        return True
    if not isinstance(inputs, Sequence) or inputs.open:
        return False
    # `control_dependencies([])` asks for nothing, so nothing is lost.
    if not inputs.items:
        return True
    # Whoever uses what the block returns has the dependencies.
    asked = set(map(id, inputs.items))
    returned = [it.items if isinstance(it, Sequence) else [it] for it in block.returned]
    return bool(returned) and all(asked <= set(map(id, values)) for values in returned)
