"""The step that one `replicate()` becomes in the user's graph.

It is one call of one function, which has the program of one replica once for each replica, so
that TensorFlow's executor runs them concurrently; XLA compiles each device segment once for all.
"""

from __future__ import annotations

from tpulint.runtime.execute.replica_programs import run_replicas
from tpulint.runtime.execute.tensor_map import TensorMap
from tpulint.runtime.extract.copying import copy_operations
from tpulint.runtime.extract.program import ReplicatedProgram
from tpulint.runtime.extract.region import (
    Region,
    Tensor,
    graph_nodes,
    in_program_order,
    needed_operations,
)
from tpulint.runtime.mark.marked import Ran
from tpulint.runtime.schedule.schedule import Schedule
from tpulint.runtime.tensorflow_internals import functions


def execute(scheduled: Schedule) -> Ran:
    """Build, in the graph that is being built, the step that runs what is scheduled."""
    program = scheduled.program
    users = _users_tensors(program)
    inside = {name: place for place, name in enumerate(users)}

    def step(*arguments: Tensor) -> list[Tensor]:
        images = TensorMap({name: arguments[place] for name, place in inside.items()})
        _compute_boundary(program, images)
        return run_replicas(scheduled, images)

    function = functions.wrapped(step, [tensor.dtype for tensor in users.values()])
    token, *outputs = function(*users.values())
    count = len(program.region.outputs)
    return Ran(
        outputs=tuple(
            tuple(outputs[replica * count : (replica + 1) * count])
            for replica in range(program.num_replicas)
        ),
        done=(token.op,) * program.num_replicas,
    )


def _users_tensors(program: ReplicatedProgram) -> dict[str, Tensor]:
    """Return the user's tensors that the step needs, by their names in the marked graph."""
    needed_here = {tensor.name: tensor for given in program.boundary.values() for tensor in given}
    if program.marked.mode == "graph":
        return needed_here
    return {inner.name: outer for outer, inner in program.marked.graph.captures}


def _compute_boundary(program: ReplicatedProgram, images: TensorMap) -> None:
    """Compute the operations around the cluster in its own marked graph, from its captures."""
    marked = program.marked
    missing = [
        tensor.op
        for given in program.boundary.values()
        for tensor in given
        if tensor.name not in images.tensors
    ]
    if not missing:
        return
    known = {tensor.op.name for _, tensor in marked.graph.captures}
    found = needed_operations(missing, lambda op: op.name not in known)
    ops = in_program_order(marked.graph, found)
    around = Region(marked.graph, ops, tuple(images.tensors), (), graph_nodes(marked.graph))
    before = {
        op.name: frozenset(other.name for other in op.control_inputs) & around.names for op in ops
    }
    images.tensors.update(copy_operations(around, ops, images.tensors.__getitem__, before).tensors)
