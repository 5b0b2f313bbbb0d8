"""Operations in bodies that nothing uses, of which a TPU's compiler removes those without effects.

XLA for the CPU looks at all operations of a function before it removes any. So a body in which some
of these have no kernel is not compiled as it is, but rebuilt without them.
"""

from __future__ import annotations

from typing import Any

from tpulint.runtime.extract.bodies import bodies, body_of_function, is_call
from tpulint.runtime.extract.kernels import needs_the_host
from tpulint.runtime.extract.region import Operation, Region
from tpulint.runtime.tensorflow_internals import graphs


def holds_idle_host_operations(region: Region, op: Operation) -> bool:
    """Return whether a body of `op`, at any depth, has unused operations that need the host."""
    return any(_has_idle_host_operations(body.graph) for body in bodies(region, op))


@graphs.once_a_graph
def _has_idle_host_operations(graph: Any) -> bool:
    body = body_of_function(graph)
    in_use = body.names | {tensor.op.name for tensor in graph.inputs}
    idle = [op for op in graph.get_operations() if op.name not in in_use and op.type != "Const"]
    return any(_runs_on_host(body, op) for op in idle) or any(
        holds_idle_host_operations(body, op) for op in body.ops
    )


def _runs_on_host(region: Region, op: Operation) -> bool:
    if not is_call(op) and needs_the_host(region, op):
        return True
    return any(_runs_on_host(body, inner) for body in bodies(region, op) for inner in body.ops)
