"""The connection of a program to hosts of a pod that are processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.workers.addresses import answers, own_address_towards
from tpulint.runtime.workers.lost import disconnect_when_lost, leave_connections_alone


def prepare(server_def: Any, workers: Sequence[str]) -> None:
    """Make this process known, in the ServerDef, by an address that the `workers` can reach.

    TensorFlow's is always localhost. From now on it is watched that they answer.

    Raises:
        tf.errors.UnavailableError: one of them does not answer; TensorFlow would wait for it.
    """
    for job in server_def.cluster.job:
        if job.name == server_def.job_name:
            port = int(job.tasks[server_def.task_index].rpartition(":")[2])
            job.tasks[server_def.task_index] = _reached(workers, port)


def reach(workers: Sequence[str], port: int) -> str:
    """Return the address at which the `workers` reach `port` of this process in a session.

    From now on it is watched that they answer.

    Raises:
        tf.errors.UnavailableError: one of them does not answer; TensorFlow would wait for it.
    """
    return _reached(workers, port, in_session=True)


def _reached(workers: Sequence[str], port: int, *, in_session: bool = False) -> str:
    leave_connections_alone()
    for address in workers:
        if not answers(address):
            message = f"No host of the pod answers at {address}: is `tpulint worker` running there?"
            raise tf.errors.UnavailableError(None, None, message)
    disconnect_when_lost(workers, from_all=in_session)
    return own_address_towards(tuple(workers), port)
