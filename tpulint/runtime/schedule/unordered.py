"""The warning about accesses of a variable that nothing orders."""

from __future__ import annotations

from tpulint.runtime.errors import UnorderedAccessWarning
from tpulint.runtime.extract.bodies import READS, function_names
from tpulint.runtime.extract.order import UnorderedAccesses
from tpulint.runtime.extract.region import Operation
from tpulint.runtime.source_location import place_of_operation


def warning_of(found: UnorderedAccesses) -> UnorderedAccessWarning:
    """Return the warning about `found`."""
    first, second = _access(found.first), _access(found.second)
    return UnorderedAccessWarning(
        f"Nothing orders two accesses of the variable '{found.variable}' in a conditional: "
        f"{first}, and {second}. Here they run in the order in which TensorFlow's passes compile "
        "them; if Grappler is on it may be the other. A control dependency between them decides",
        place=place_of_operation(found.second) or place_of_operation(found.first),
    )


def _access(op: Operation) -> str:
    if function_names(op.graph, op.node_def):
        does = "inner control flow"
    else:
        does = "a read" if op.type in READS else "a write"
    place = place_of_operation(op)
    return f"{does} '{op.name}'" + (f" at {place}" if place else "")
