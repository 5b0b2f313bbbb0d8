"""The programs of all replicas, in the order of the schedule."""

from __future__ import annotations

from dataclasses import replace

import tensorflow as tf

from tpulint.runtime.execute.awaited import may_wait
from tpulint.runtime.execute.compose import Composer
from tpulint.runtime.execute.copies import make_copies, write_back
from tpulint.runtime.execute.deadline import Deadline
from tpulint.runtime.execute.drift import compare_copies
from tpulint.runtime.execute.exchanges import Exchanges
from tpulint.runtime.execute.failures import Failures
from tpulint.runtime.execute.feeds import Feeds
from tpulint.runtime.execute.initialized import refused_until_initialized
from tpulint.runtime.execute.patience import Waits
from tpulint.runtime.execute.probes import Probes
from tpulint.runtime.execute.rendezvous import RendezvousReports
from tpulint.runtime.execute.replicas import Replicas
from tpulint.runtime.execute.step_mutex import StepMutex
from tpulint.runtime.execute.tensor_map import (
    TensorMap,
    constant_or_image,
    no_iteration,
    token_after,
)
from tpulint.runtime.extract.copying import cut_dimension, find_cut_sizes
from tpulint.runtime.extract.program import ReplicatedProgram, cores_of_replicas, replica_names
from tpulint.runtime.extract.region import Tensor
from tpulint.runtime.schedule.locks import AccessSchedule
from tpulint.runtime.schedule.schedule import Schedule
from tpulint.runtime.tensorflow_internals import operations


def run_replicas(
    scheduled: Schedule,
    around: TensorMap,
) -> list[Tensor]:
    """Return a token, which has a value when all has run, and the outputs, replica by replica."""
    program, access_schedule, options = (
        scheduled.program,
        scheduled.access_schedule,
        scheduled.options,
    )
    names = replica_names(program.marked)
    rendezvous = RendezvousReports(
        scheduled.rendezvous, names, all_of_them=options.deadline is not None
    )
    exchanges = Exchanges(scheduled.rendezvous, program.num_replicas)
    waits = Waits()
    fed = Feeds(scheduled.feeds, program.marked, names, waits)
    images = tuple(
        TensorMap(
            _inputs(program, replica, around),
            replica=tf.constant(replica),
            iteration=no_iteration(),
            queues=exchanges.queues(replica),
            feeds=fed.queues(replica),
            handles={name: name for name in program.region.inputs},
            constants=program.constants,
        )
        for replica in range(program.num_replicas)
    )
    deadline = Deadline(
        options.deadline,
        waits,
        rendezvous.waits,
        lambda: probes.started(),
        may_wait=fed.may_wait or may_wait(program.region),
    )
    probes = Probes()
    failures = Failures(program.marked.graph)
    shares = [
        scheduled.rendezvous,
        access_schedule.queued,
        deadline.watches,
        probes.wanted,
        failures.watches,
    ]
    mutex = StepMutex(needed=any(shares))
    with tf.control_dependencies(mutex.acquire()):
        cleared = [*rendezvous.begin(), *exchanges.begin([here.queues for here in images])]
        ready = refused_until_initialized(program.marked)
        begun = [*probes.begin(), *deadline.begin(), *failures.begin()]
        first = tf.group(ready, begun, mutex.acquire())
    composer = Composer(names, access_schedule, rendezvous, exchanges, probes, deadline, fed)
    cores = cores_of_replicas(program.marked, logical_core=0)
    replicas = Replicas(composer, images, cores)
    watching = deadline.watch([first])
    serving = exchanges.run([first, *cleared])
    started = [first, *replicas.run(scheduled.before, [first])]
    copies, filled = make_copies(scheduled.copied, images, cores, started)
    held = replicas.run(scheduled.during, [*started, *filled, *cleared])
    released = [*held, *write_back(copies, held)]
    ended = [*released, *replicas.run(scheduled.after, released)]
    for later in composer.deferred:
        with tf.control_dependencies(mutex.acquire()):
            operations.add_control_inputs(first, [later.forgotten()])
        ended.append(
            later.run(
                images[0],
                ended,
                replace(composer, access_schedule=AccessSchedule(), deferred=[]).build,
            )
        )
    ended += compare_copies(scheduled.unsynchronized, images, ended)
    ended += [*exchanges.stop(ended), *serving, *deadline.end(ended), *watching]
    ended += failures.end(ended)
    token = token_after([*ended, *mutex.release(ended)])
    outputs = [
        constant_or_image(program.region, out.name, here, on_host=False)
        for here in images
        for out in program.region.outputs
    ]
    return [token, *outputs]


def _inputs(program: ReplicatedProgram, replica: int, around: TensorMap) -> dict[str, Tensor]:
    """Return the tensors of `replica` for the inputs of the region."""
    tensors = {
        name: around.tensors[given[replica].name] for name, given in program.boundary.items()
    }
    for one in find_cut_sizes(program.region):
        tensors[one.name] = cut_dimension(tensors[one.name], one.dimension, tensors[one.size])
    return tensors
