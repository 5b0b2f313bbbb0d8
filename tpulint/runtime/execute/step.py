"""A step: what one `replicate()` becomes in the user's graph.

It is one call of one function. In it stands the program of one replica, once for each replica, so
that TensorFlow's executor runs them concurrently; XLA compiles each device segment once for all.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import tensorflow as tf

from tpulint.runtime import tensorflow_internals
from tpulint.runtime.execute.collectives import emptied, seats
from tpulint.runtime.execute.compose import Composer
from tpulint.runtime.execute.copies import make_copies, write_back
from tpulint.runtime.execute.deadline import Deadline
from tpulint.runtime.execute.locks import Verdicts, judge
from tpulint.runtime.execute.meetings import Meetings
from tpulint.runtime.execute.options import Options
from tpulint.runtime.execute.places import Places, constant_or_image, token_after
from tpulint.runtime.execute.probes import Probes
from tpulint.runtime.execute.replicas import Replicas
from tpulint.runtime.execute.variables import Variable, variables_of
from tpulint.runtime.extract.collectives import collectives
from tpulint.runtime.extract.copying import copy
from tpulint.runtime.extract.parts import part
from tpulint.runtime.extract.program import Program, extract
from tpulint.runtime.extract.region import (
    Region,
    Tensor,
    graph_nodes,
    in_program_order,
    key_of,
    needed,
)
from tpulint.runtime.mark.marked import Marked, Ran

tensorflow_internals.sessions_place_only_what_they_run()


@tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
def run_marked(marked: Marked, options: Options | None = None) -> Ran:
    """Build, in the graph that is being built, the step that runs `marked`."""
    options = options or Options()
    program = extract(marked)
    users = _users_tensors(marked, program)
    inside = {name: place for place, name in enumerate(users)}
    variables = variables_of(marked, program)
    verdicts = judge(program.region, variables, options)
    for warning in verdicts.warnings:
        warnings.warn(warning, stacklevel=2)
    counts = []

    def step(*arguments: Tensor) -> list[Tensor]:
        places = Places({name: arguments[place] for name, place in inside.items()})
        _compute_boundary(marked, program, places)
        results = _replicas(program, variables, verdicts, options, places)
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
    needed_here = {tensor.name: tensor for given in program.boundary.values() for tensor in given}
    if marked.mode == "graph":
        return needed_here
    return {inner.name: outer for outer, inner in marked.graph.captures}


def _compute_boundary(marked: Marked, program: Program, places: Places) -> None:
    """What stands around the cluster in a marked graph of its own, from what it captures."""
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


def _replicas(
    program: Program,
    variables: Sequence[Variable],
    verdicts: Verdicts,
    options: Options,
    around: Places,
) -> list[list[Tensor]]:
    """For each replica a token, which has a value when all of it has run, and its outputs."""
    meetings = list(collectives(program.region, program.num_replicas))
    can_be_missed = Meetings(meetings, program.num_replicas)
    all_seats = {one.key: seats(one, program.num_replicas) for one in meetings}
    places = tuple(
        Places(
            {name: around.tensors[given[replica].name] for name, given in program.boundary.items()},
            replica=tf.constant(replica),
            seats={key: here[replica] for key, here in all_seats.items()},
            handles={name: name for name in program.region.inputs},
        )
        for replica in range(program.num_replicas)
    )
    cleared = [
        *can_be_missed.begin(),
        *emptied(seat for here in all_seats.values() for seat in here),
    ]
    probes = Probes()
    deadline = Deadline(options.deadline, can_be_missed.waits)
    composer = Composer(verdicts, can_be_missed, probes, deadline)
    replicas = Replicas(composer, places)
    before, during, after = _parts(program.region, verdicts)
    first = tf.group(probes.begin(), deadline.begin())
    watching = deadline.watch([first])
    started = [first, *replicas.run(before, [first])]
    copied = [one for one in variables if one.is_copied(program.num_replicas, options)]
    copies, filled = make_copies(copied, places, started)
    held = replicas.run(during, [*started, *filled, *cleared])
    released = [*held, *write_back(copies, held)]
    ended = [*released, *replicas.run(after, released)]
    for later in composer.deferred:
        tensorflow_internals.add_control_inputs(first, [later.forgotten()])
        ended.append(
            later.run(places[0], ended, Composer(Verdicts(), can_be_missed, probes, deadline).build)
        )
    token = token_after([*ended, *deadline.end(ended), *watching])
    return [
        [
            tf.identity(token),
            *(
                tf.identity(constant_or_image(program.region, out.name, here, on_host=False))
                for out in program.region.outputs
            ),
        ]
        for here in places
    ]


def _parts(region: Region, verdicts: Verdicts) -> tuple[Region, Region, Region]:
    """What runs before the device program, with it, and after it."""
    by_name = {op.name: op for op in region.ops}
    early = needed(
        (op for op in region.ops if key_of(region, op) in verdicts.before),
        lambda op: op.name in by_name and region.cluster_of(op) is not None,
    )
    late = {op.name for op in region.ops if key_of(region, op) in verdicts.after}
    for op in region.ops:
        if op.type == "Identity" and op.inputs[0].op.name in late:
            late.add(op.name)
    return (
        part(region, lambda op: op.name in early),
        part(region, lambda op: op.name not in early and op.name not in late),
        part(region, lambda op: op.name in late),
    )
