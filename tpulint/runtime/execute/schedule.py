"""The schedule of a step: clusters before, the device programs, clusters after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tensorflow as tf

from tpulint.runtime import tensorflow_internals
from tpulint.runtime.execute.compose import Composer
from tpulint.runtime.execute.copies import make_copies, write_back
from tpulint.runtime.execute.deadline import Deadline
from tpulint.runtime.execute.feeds import Feeds
from tpulint.runtime.execute.hubs import Hubs
from tpulint.runtime.execute.initialized import refused_until_initialized
from tpulint.runtime.execute.locks import Verdicts
from tpulint.runtime.execute.meetings import Meetings
from tpulint.runtime.execute.options import Options
from tpulint.runtime.execute.places import Places, constant_or_image, no_iteration, token_after
from tpulint.runtime.execute.probes import Probes
from tpulint.runtime.execute.replicas import Replicas
from tpulint.runtime.execute.turns import Turn
from tpulint.runtime.execute.variables import Variable
from tpulint.runtime.extract.collectives import collectives
from tpulint.runtime.extract.feeds import feeds
from tpulint.runtime.extract.parts import part
from tpulint.runtime.extract.program import Program
from tpulint.runtime.extract.region import (
    Region,
    Tensor,
    key_of,
    needed,
)
from tpulint.runtime.mark.marked import Marked


def run_replicas(
    marked: Marked,
    program: Program,
    variables: Sequence[Variable],
    verdicts: Verdicts,
    options: Options,
    around: Places,
) -> list[Tensor]:
    """Return a token, which has a value when all has run, and the outputs, replica by replica."""
    met = list(collectives(program))
    meetings = Meetings(met, all_of_them=options.deadline is not None)
    hubs = Hubs(met, program.num_replicas)
    fed = Feeds(feeds(program.region), marked)
    places = tuple(
        Places(
            {name: around.tensors[given[replica].name] for name, given in program.boundary.items()},
            replica=tf.constant(replica),
            iteration=no_iteration(),
            queues=hubs.queues(replica),
            feeds=fed.queues(replica),
            handles={name: name for name in program.region.inputs},
        )
        for replica in range(program.num_replicas)
    )
    probes = Probes()
    deadline = Deadline(options.deadline, meetings.waits, fed, probes.started)
    shares = [met, verdicts.queued, fed.may_wait, deadline.watches, probes.wanted]
    turn = Turn(needed=any(shares))
    with tf.control_dependencies(turn.begins()):
        cleared = [*meetings.begin(), *hubs.begin([here.queues for here in places])]
        ready = refused_until_initialized(marked)
        first = tf.group(ready, probes.begin(), deadline.begin(), turn.begins())
    composer = Composer(verdicts, meetings, hubs, probes, deadline, fed)
    replicas = Replicas(composer, places)
    before, during, after = _parts(program.region, verdicts)
    watching = deadline.watch([first])
    serving = hubs.run([first, *cleared])
    started = [first, *replicas.run(before, [first])]
    copied = [one for one in variables if one.is_copied(program.num_replicas, options)]
    copies, filled = make_copies(copied, places, started)
    held = replicas.run(during, [*started, *filled, *cleared])
    released = [*held, *write_back(copies, held)]
    ended = [*released, *replicas.run(after, released)]
    for later in composer.deferred:
        with tf.control_dependencies(turn.begins()):
            tensorflow_internals.add_control_inputs(first, [later.forgotten()])
        ended.append(
            later.run(places[0], ended, replace(composer, verdicts=Verdicts(), deferred=[]).build)
        )
    ended += [*hubs.stop(ended), *serving, *deadline.end(ended), *watching]
    token = token_after([*ended, *turn.ends(ended)])
    outputs = [
        constant_or_image(program.region, out.name, here, on_host=False)
        for here in places
        for out in program.region.outputs
    ]
    return [token, *outputs]


def _parts(region: Region, verdicts: Verdicts) -> tuple[Region, Region, Region]:
    """Return the parts of `region` that run before the device program, with it, and after it."""
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
