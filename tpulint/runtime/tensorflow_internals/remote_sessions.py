"""Sessions that a host of an emulated pod serves, where the hosts are processes of their own.

As with a Cloud TPU, each operation runs on the host that its device names, or on the first one.
A computation's step runs in this process, as in functions, and sends each host its part: so this
process has a server, too, which takes part in the session as the job "localhost" and leads it.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.modules import config_pb2, eager_context, ops, session
from tpulint.runtime.tensorflow_internals.patching import patched
from tpulint.runtime.tensorflow_internals.pods import LOCAL, current_pod, is_master, spec_of
from tpulint.runtime.tensorflow_internals.processes import COORDINATORS_CPU, run_there
from tpulint.runtime.tensorflow_internals.session_graphs import SessionGraph, name_of
from tpulint.runtime.tensorflow_internals.sessions import SERVED
from tpulint.runtime.tensorflow_internals.tracebacks import frames_hidden

OWN_SCOPE = "tpulint/"
"""The name scope of what is built beside the user's nodes."""
_GRAPH = "_tpulint_session_graph"
_SESSION = "tensorflow.python.client.session.BaseSession"
_PERHAPS_LOST = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.InternalError,
    tf.errors.UnavailableError,
)
"""The errors of a step that has lost a host, whichever of its parts fails first."""


@contextlib.contextmanager
def sessions_on_workers(
    reach: Callable[[Sequence[str], int], str],
    answers: Callable[[str], bool],
    lost_host: Callable[[], str | None],
) -> Iterator[None]:
    """Let sessions on a host of the pod in the context run on all hosts, if those are processes.

    `reach` is called with their addresses and the port of this process's server, and returns the
    address of that as they see it; it raises an UnavailableError if one of them does not answer.
    `lost_host()` is the address of one that answers no more, if there is one.

    A TPU of one host is this machine's, whatever its address is: a session runs here if nobody
    `answers` at its target, for which TensorFlow would wait for ever.
    """
    kind = session.BaseSession
    initialize, run = kind.__init__, kind._call_tf_sessionrun
    make_callable, set_up = kind._make_callable_from_options, kind.partial_run_setup

    def place(node: Any) -> None:
        if node.name.startswith(OWN_SCOPE) and not node.device:
            node.device = COORDINATORS_CPU
        elif spec_of(node.device).job != LOCAL:
            node.device = run_there(node.device)

    @functools.wraps(initialize)
    def __init__(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        self._session = None  # until it is made, which can fail
        if not (is_master(target) and current_pod().workers):
            initialize(self, _target_of_somebody(target, answers), graph, config)
            return
        theirs = ops.get_default_graph() if graph is None else graph
        served = SessionGraph(theirs, place)
        setattr(self, _GRAPH, served)
        initialize(self, _server().target, served.graph, _config(config, reach))
        self._graph, self._target = theirs, tf.compat.as_bytes(target)
        setattr(self, SERVED, True)

    @frames_hidden
    def _call_tf_sessionrun(
        self: Any, options: Any, feeds: Any, fetches: Any, targets: Any, metadata: Any
    ) -> Any:
        served = getattr(self, _GRAPH, None)
        if served is not None:
            # TensorFlow passes on their names only, which are those of the session's graph, too.
            served.grow(map(name_of, [*(one.oper for one in (*feeds, *fetches)), *targets]))
            self._extend_graph()
        try:
            return run(self, options, feeds, fetches, targets, metadata)
        except _PERHAPS_LOST as error:
            address = lost_host() if served is not None else None
            if address is None:
                raise
            message = f"The host of the pod at {address} does not answer"
            raise tf.errors.UnavailableError(None, None, message) from error

    def _make_callable_from_options(self: Any, options: Any) -> Any:
        served = getattr(self, _GRAPH, None)
        if served is not None:
            names = [*options.feed, *options.fetch, *options.target]
            served.grow([name.partition(":")[0] for name in names])
        return make_callable(self, options)

    def partial_run_setup(self: Any, fetches: Any, feeds: Any = None) -> Any:
        if hasattr(self, _GRAPH):
            message = "partial runs are not emulated where the hosts of a pod are processes"
            raise tf.errors.UnimplementedError(None, None, message)
        return set_up(self, fetches, feeds)

    with (
        patched(f"{_SESSION}.__init__", __init__),
        patched(f"{_SESSION}._call_tf_sessionrun", _call_tf_sessionrun),
        patched(f"{_SESSION}._make_callable_from_options", _make_callable_from_options),
        patched(f"{_SESSION}.partial_run_setup", partial_run_setup),
    ):
        yield


def _target_of_somebody(target: Any, answers: Callable[[str], bool]) -> Any:
    """Return the target of a session, or that of this process where it is the TPU's."""
    protocol, _, address = tf.compat.as_str(target or "").partition("://")
    has_port = address.rpartition(":")[2].isdecimal()
    if protocol != "grpc" or not has_port or is_master(target) or answers(address):
        return target
    if not current_pod().is_remote:
        return ""
    message = (
        f"Nobody answers at {address}: the pod's hosts are at {', '.join(current_pod().masters)}"
    )
    raise tf.errors.FailedPreconditionError(None, None, message)


@functools.cache
def _server() -> Any:
    """Return the server of this process. TensorFlow cannot end it."""
    os.environ.setdefault("GRPC_FAIL_FAST", "true")  # or it waits for hosts that are gone
    own = "tpulint_program"  # the name that a session gives it has to be another one
    return tf.distribute.Server({own: ["localhost:0"]}, job_name=own, task_index=0)


def _config(given: Any, reach: Callable[[Sequence[str], int], str]) -> Any:
    """Return the ConfigProto `given` for a session of this process and all hosts of the pod.

    They share their devices: so each can run functions of which parts are on others. Grappler is
    left out: that of 2.12 moves calls out of the loops that their arguments are in.
    """
    config = config_pb2.ConfigProto()
    config.CopyFrom(eager_context.context().config if given is None else given)
    config.MergeFrom(
        config_pb2.ConfigProto(
            share_cluster_devices_in_session=True,
            graph_options={"rewrite_options": {"disable_meta_optimizer": True}},
        )
    )
    config.ClearField("cluster_def")
    port = int(_server().target.rpartition(":")[2])
    pod = current_pod()
    try:
        tasks = {LOCAL: [reach(pod.workers, port)], pod.job: pod.workers}
    except tf.errors.UnavailableError as error:
        # After that one a MonitoredSession would try again, for ever.
        raise tf.errors.FailedPreconditionError(None, None, error.message) from None
    for name, addresses in tasks.items():
        job = config.cluster_def.job.add(name=name)
        job.tasks.update(enumerate(addresses))
    return config
