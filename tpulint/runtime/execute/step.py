"""A step: what one `replicate()` becomes in the user's graph.

It is one call of one function. In it stands the program of one replica, once for each replica, so
that TensorFlow's executor runs the replicas concurrently; XLA compiles each device segment once for all.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from tpulint.runtime import tensorflow_internals
from tpulint.runtime.execute.compose import Composer
from tpulint.runtime.execute.copying import constant_or_image, copy
from tpulint.runtime.execute.options import Options
from tpulint.runtime.execute.places import Places
from tpulint.runtime.extract.program import Program, extract
from tpulint.runtime.extract.region import Region, Tensor, graph_nodes, in_program_order, needed
from tpulint.runtime.mark.marked import Marked, Ran

tensorflow_internals.sessions_place_only_what_they_run()


def run_marked(marked: Marked, options: Options | None = None) -> Ran:
    """Build, in the graph that is being built, the step that runs `marked`."""
    options = options or Options()
    program = extract(marked)
    users = _users_tensors(marked, program)
    inside = {name: place for place, name in enumerate(users)}
    counts = []

    def step(*arguments: Tensor) -> list[Tensor]:
        places = Places({name: arguments[place] for name, place in inside.items()})
        _compute_boundary(marked, program, places)
        results = _replicas(program, places)
        counts.append([len(one) for one in results])
        return [tensor for one in results for tensor in one]

    function = tf.compat.v1.wrap_function(
        step, [tf.TensorSpec(None, tensor.dtype) for tensor in users.values()]
    )
    flat = iter(function(*users.values()))
    per_replica = [[next(flat) for _ in range(count)] for count in counts[-1]]
    return Ran(
        outputs=tuple(tuple(one[1:]) for one in per_replica),
        done=tuple(one[0].op for one in per_replica),
    )


def _users_tensors(marked: Marked, program: Program) -> dict[str, Tensor]:
    """The user's tensors that the step needs, by the name that they have in the marked graph."""
    needed_here = {
        tensor.name: tensor for given in program.boundary.values() for tensor in given
    }
    if marked.mode == "graph":
        return needed_here
    return {inner.name: outer for outer, inner in marked.graph.captures}


def _compute_boundary(marked: Marked, program: Program, places: Places) -> None:
    """What stands around the cluster in a marked graph of its own, computed from what it captures."""
    missing = [
        tensor.op
        for given in program.boundary.values()
        for tensor in given
        if tensor.name not in places.tensors
    ]
    if not missing:
        return
    known = {tensor.op.name for _, tensor in marked.graph.captures}
    found = needed(missing, lambda op: op.name not in known)
    ops = in_program_order(marked.graph, found)
    around = Region(marked.graph, ops, tuple(places.tensors), (), graph_nodes(marked.graph))
    before = {
        op.name: frozenset(other.name for other in op.control_inputs) & around.names for op in ops
    }
    places.tensors.update(copy(around, ops, places.tensors.__getitem__, before).tensors)


def _replicas(program: Program, places: Places) -> list[list[Tensor]]:
    """For each replica a token, which has a value when all of it has run, and its outputs."""
    names = program.region.inputs
    functions = tf.compat.v1.wrap_function(
        lambda *arguments: _one_replica(program, dict(zip(names, arguments))),
        [
            tf.TensorSpec(None, program.boundary[name][0].dtype) for name in names
        ],
    )
    return [
        list(functions(*(places.tensors[program.boundary[name][replica].name] for name in names)))
        for replica in range(program.num_replicas)
    ]


def _one_replica(program: Program, given: dict[str, Tensor]) -> Sequence[Tensor]:
    for name, argument in given.items():
        if program.num_replicas == 1:
            argument.set_shape(program.boundary[name][0].shape)
    places = Places(dict(given))
    Composer(lambda region, op: region.cluster_of(op) is not None).build(program.region, places)
    with tf.control_dependencies(places.effects):
        token = tf.identity(tf.constant(True))
    return [
        token,
        *(
            constant_or_image(program.region, tensor.name, places, on_host=False)
            for tensor in program.region.outputs
        ),
    ]
