"""Sessions: what they place, how long they live, and the hosts of a pod that serve them."""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from tpulint.runtime import emulator
from tpulint.runtime.pods import connections, devices
from tpulint.runtime.tensorflow_internals.modules import (
    c_api,
    c_api_util,
    config_pb2,
    eager_context,
    ops,
    session,
)
from tpulint.runtime.tensorflow_internals.operations import name_of
from tpulint.runtime.tensorflow_internals.patching import (
    after_install,
    emulated_patch,
    emulated_patch_value,
    patch,
)
from tpulint.runtime.tensorflow_internals.threads import GraphCall, contents_of_run
from tpulint.runtime.tensorflow_internals.tracebacks import frames_hidden

_SESSION = "tensorflow.python.client.session.BaseSession"
SERVED = "_tpulint_served"
"""The attribute of a session that holds whether a host of the emulated pod serves it."""
_alive: weakref.WeakSet[Any] = weakref.WeakSet()
# Like the sessions themselves they are of the process. Eight are more than fail at once.
_kept: collections.deque[tuple[Any, ...]] = collections.deque(maxlen=8)


@patch(
    f"{_SESSION}.__init__",
    why="sessions place only the operations that they run: marked nodes have no kernel",
)
def _place_only_what_runs(
    initialize: Callable[..., None],
    self: Any,
    target: Any = "",
    graph: Any = None,
    config: Any = None,
) -> None:
    # A session places its whole graph, and would refuse one that holds marked nodes. What it would
    # ask of the emulated pod's hosts, it asks of this process, unless they are processes.
    served = devices.is_master(target)
    if served and not devices.current_pod().workers:
        target = ""
    is_local = not target  # a server does not have the option
    if is_local and (config is None or isinstance(config, config_pb2.ConfigProto)):
        own = config_pb2.ConfigProto()
        own.CopyFrom(config if config is not None else eager_context.context().config)
        own.graph_options.place_pruned_graph = True
        config = own
    setattr(self, SERVED, served)
    initialize(self, target, graph, config)
    _alive.add(self)


def is_on_emulated_tpu(of: Any) -> bool:
    """Return whether the session `of` sees the cores of the emulated TPU."""
    return not devices.current_pod().is_remote or getattr(of, SERVED, False)


@after_install
def _renew_open_sessions() -> None:
    """Let the sessions that are open place only what they run, as new ones do.

    TensorFlow reads the options of a session when it makes it: so it is made again.
    """
    if not session._python_session_create_counter.get_cell().value():
        return
    for value in gc.get_objects():
        if issubclass(type(value), session.BaseSession) and value not in _alive:
            is_local = value._session is not None and not value._closed and not value._target
            if is_local and not value._config.graph_options.place_pruned_graph:
                _renew(value)


def _renew(opened: Any) -> None:
    """Make the session `opened` again. Variables keep their values; it rarely has any yet."""
    graph = opened._graph
    names = (tf.compat.v1.GraphKeys.GLOBAL_VARIABLES, tf.compat.v1.GraphKeys.LOCAL_VARIABLES)
    values = {}
    for variable in itertools.chain.from_iterable(map(graph.get_collection, names)):
        # It is not initialized, or the session cannot run this graph yet.
        with contextlib.suppress(tf.errors.OpError):
            values[variable.initializer] = opened.run(variable)
    c_api.TF_DeleteSession(opened._session)
    session.BaseSession.__init__(opened, "", graph, opened._config)
    for initializer, value in values.items():
        opened.run(initializer, {initializer.inputs[1]: value})


@patch(
    f"{_SESSION}.close",
    why="a session is not deleted while a call in it that failed still holds a mutex",
)
def _close(original: Callable[..., None], self: Any) -> None:
    if any(self in recent for recent in _kept):
        self._closed = True
    else:
        original(self)


def keep_sessions() -> None:
    """Keep the open sessions after the program has closed or dropped them, for a while.

    A function call that cannot be instantiated reports it while it holds a mutex of its kernel
    (PartitionedCallOp::ComputeAsync in partitioned_function_ops.cc). A session that is closed
    before the mutex is released deletes it too, and the process is aborted. The next failures
    let go of the session, and with its last reference TensorFlow deletes it.
    """
    _kept.append(tuple(alive for alive in _alive if not alive._closed))


class SessionGraph:
    """A growing copy of the nodes of `source` that a session runs, placed on the pod's hosts."""

    def __init__(self, source: Any) -> None:
        self.graph = tf.Graph()
        self._source = source
        self._operations: dict[str, Any] = {}
        self._functions: set[str] = set()
        self._read: tuple[int, Any, dict[str, Any]] = (-1, None, {})
        self._lock = threading.Lock()

    def grow(self, names: Iterable[str]) -> None:
        """Add the operations `names` and all that they need, if they are not here.

        Raises:
            KeyError: the program's graph has none of that name.
        """
        with self._lock:
            missing = [name for name in names if name not in self._operations]
            if missing:
                self._add(self._needed(missing))

    def _needed(self, names: list[str]) -> list[Any]:
        """Return the NodeDefs of `names` and of those before them that are not here yet."""
        nodes = self._nodes()
        needed: dict[str, Any] = {}
        while names:
            name = names.pop()
            if name not in needed and name not in self._operations:
                needed[name] = nodes[name]
                names.extend(_node(input_) for input_ in nodes[name].input)
        return list(needed.values())

    def _nodes(self) -> dict[str, Any]:
        """Return the NodeDefs of the program's graph as it is now, by name."""
        version, _, nodes = self._read
        if version != self._source.version:
            graph_def = self._source.as_graph_def()
            nodes = {node.name: node for node in graph_def.node}
            self._read = (self._source.version, graph_def, nodes)
        return nodes

    def _add(self, nodes: list[Any]) -> None:
        part = tf.compat.v1.GraphDef(versions=self._read[1].versions)
        new = {node.name for node in nodes}
        options = c_api_util.ScopedTFImportGraphDefOptions()
        # Groups are known by their names: what they are named after need not be here.
        c_api.TF_ImportGraphDefOptionsSetValidateColocationConstraints(options.options, False)
        for original in nodes:
            node = part.node.add()
            node.CopyFrom(original)
            if node.name.startswith(OWN_SCOPE) and not node.device:
                node.device = devices.COORDINATORS_CPU
            elif devices.spec_of(node.device).job != devices.LOCAL:
                node.device = devices.remote_device(node.device)
            c_api.TF_ImportGraphDefOptionsAddReturnOperation(options.options, node.name)
            for input_ in node.input:
                if _node(input_) not in new:
                    self._map(options.options, input_)
        self._add_functions(part.library)
        operations = _imported(self.graph, part, options.options)
        self._operations.update(zip((node.name for node in nodes), operations, strict=True))

    def _map(self, options: Any, input_: str) -> None:
        """Let an input of the nodes that are added be an output that is here."""
        here = self._operations[_node(input_)]
        if input_.startswith("^"):
            c_api.TF_ImportGraphDefOptionsRemapControlDependency(options, input_[1:], here)
        else:
            name, _, index = input_.partition(":")
            place = int(index or 0)
            output = c_api_util.tf_output(here, place)
            c_api.TF_ImportGraphDefOptionsAddInputMapping(options, name, place, output)

    def _add_functions(self, library: Any) -> None:
        """Add to `library` the functions of the program's graph that are not here."""
        of_session = self._read[1].library
        for function in of_session.function:
            if function.signature.name not in self._functions:
                library.function.add().CopyFrom(function)
        added = {function.signature.name for function in library.function}
        library.gradient.extend(
            gradient for gradient in of_session.gradient if gradient.function_name in added
        )
        self._functions |= added


def _imported(graph: Any, part: Any, options: Any) -> list[Any]:
    """Import the GraphDef `part` into `graph`, and return the TF_Operations for which it asks."""
    buffer = c_api.TF_NewBufferFromString(part.SerializeToString())
    try:
        with graph._c_graph.get() as c_graph:
            results = c_api.TF_GraphImportGraphDefWithResults(c_graph, buffer, options)
    finally:
        c_api.TF_DeleteBuffer(buffer)
    held = c_api_util.ScopedTFImportGraphDefResults(results)
    return list(c_api.TF_ImportGraphDefResultsReturnOperations(held.results))


def _node(input_: str) -> str:
    """Return the name of the node that the input `input_` of a NodeDef is of."""
    return input_.removeprefix("^").partition(":")[0]


OWN_SCOPE = "tpulint/"
"""The name scope of what is built beside the user's nodes."""
_GRAPH = "_tpulint_session_graph"
_PERHAPS_LOST = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.InternalError,
    tf.errors.UnavailableError,
)
"""The errors of a step that has lost a host, whichever of its parts fails first."""
_REMOTE = "sessions run on the hosts of a pod, if those are processes"


@emulated_patch(f"{_SESSION}.__init__", why=_REMOTE)
def _initialize(
    original: Callable[..., None],
    self: Any,
    target: Any = "",
    graph: Any = None,
    config: Any = None,
) -> None:
    """Let a session on a host of the pod run on all hosts, if those are processes.

    A TPU of one host is this machine's, whatever its address is: a session runs here if nobody
    answers at its target, for which TensorFlow would wait for ever.
    """
    self._session = None  # until it is made, which can fail
    if not (devices.is_master(target) and devices.current_pod().workers):
        original(self, _target_of_somebody(target), graph, config)
        return
    users_graph = ops.get_default_graph() if graph is None else graph
    served = SessionGraph(users_graph)
    setattr(self, _GRAPH, served)
    original(self, _server().target, served.graph, _config(config))
    self._graph, self._target = users_graph, tf.compat.as_bytes(target)
    setattr(self, SERVED, True)


_END_SECONDS = 1.0
"""Seconds in which a run that has failed ends by itself, unless a part of it waits on a host."""


class OpenRuns(dict[int, GraphCall]):
    """The runs of sessions on hosts, by their numbers; what is done with it is atomic in CPython.

    A part of the emulator.
    """


def end_runs_with(function: str) -> None:
    """End the runs on hosts whose graph has the Python function of that token, which fails.

    A session does not tell the functions that it has called on other hosts to end. They do when
    their connection is closed.
    """
    opened = emulator.current()
    open_runs = opened.part(OpenRuns) if opened is not None else OpenRuns()

    def end(failed: set[int]) -> None:
        if failed & set(open_runs):
            connections.end_waits_on_hosts()

    if runs := dict(open_runs):
        failed = {number for number, run in runs.items() if function in run.contents().tokens}
        timer = threading.Timer(_END_SECONDS, end, [failed])
        timer.daemon = True
        timer.start()


@emulated_patch_value(f"{_SESSION}._call_tf_sessionrun", why=_REMOTE)
def _run_on_hosts(run: Callable[..., Any]) -> Callable[..., Any]:
    @frames_hidden
    def _call_tf_sessionrun(
        self: Any, options: Any, feeds: Any, fetches: Any, targets: Any, metadata: Any
    ) -> Any:
        served = getattr(self, _GRAPH, None)
        if served is not None:
            # TensorFlow passes on their names only, which are those of the session's graph, too.
            served.grow(map(name_of, [*(tensor.oper for tensor in (*feeds, *fetches)), *targets]))
            self._extend_graph()
            opened = GraphCall(lambda: contents_of_run(self, fetches, targets))
            open_runs = emulator.current_part(OpenRuns)
            open_runs[opened.began] = opened
        try:
            return run(self, options, feeds, fetches, targets, metadata)
        except _PERHAPS_LOST as error:
            address = connections.lost_host() if served is not None else None
            if address is None:
                raise
            message = f"The host of the pod at {address} does not answer"
            raise tf.errors.UnavailableError(None, None, message) from error
        finally:
            if served is not None:
                del open_runs[opened.began]

    return _call_tf_sessionrun


@emulated_patch(f"{_SESSION}._make_callable_from_options", why=_REMOTE)
def _make_callable(original: Callable[..., Any], self: Any, options: Any) -> Any:
    served = getattr(self, _GRAPH, None)
    if served is not None:
        names = [*options.feed, *options.fetch, *options.target]
        served.grow([name.partition(":")[0] for name in names])
    return original(self, options)


@emulated_patch(f"{_SESSION}.partial_run_setup", why=_REMOTE)
def _set_up_partial_run(
    original: Callable[..., Any], self: Any, fetches: Any, feeds: Any = None
) -> Any:
    if hasattr(self, _GRAPH):
        message = "partial runs are not emulated where the hosts of a pod are processes"
        raise tf.errors.UnimplementedError(None, None, message)
    return original(self, fetches, feeds)


def _target_of_somebody(target: Any) -> Any:
    """Return the target of a session, or that of this process where it is the TPU's."""
    protocol, _, address = tf.compat.as_str(target or "").partition("://")
    is_address = protocol == "grpc" and address.rpartition(":")[2].isdecimal()
    if not is_address or devices.is_master(target) or connections.is_reachable(address):
        return target
    pod = devices.current_pod()
    if not pod.is_remote:
        return ""
    message = f"Nobody answers at {address}: the pod's hosts are at {', '.join(pod.masters)}"
    raise tf.errors.FailedPreconditionError(None, None, message)


@functools.cache
def _server() -> Any:
    """Return the server of this process. TensorFlow cannot end it."""
    os.environ.setdefault("GRPC_FAIL_FAST", "true")  # or it waits for hosts that are gone
    own = "tpulint_program"  # the name that a session gives it has to be another one
    return tf.distribute.Server({own: ["localhost:0"]}, job_name=own, task_index=0)


def _config(config_of_program: Any) -> Any:
    """Return the ConfigProto `given` for a session of this process and all hosts of the pod.

    They share their devices: so each can run functions of which parts are on others. Grappler is
    left out: that of 2.12 moves calls out of the loops that their arguments are in.
    """
    config = config_pb2.ConfigProto()
    config.CopyFrom(
        eager_context.context().config if config_of_program is None else config_of_program
    )
    config.MergeFrom(
        config_pb2.ConfigProto(
            share_cluster_devices_in_session=True,
            graph_options={"rewrite_options": {"disable_meta_optimizer": True}},
        )
    )
    config.ClearField("cluster_def")
    port = int(_server().target.rpartition(":")[2])
    pod = devices.current_pod()
    try:
        tasks = {
            devices.LOCAL: [connections.connected_address(pod.workers, port, in_session=True)],
            pod.job: pod.workers,
        }
    except tf.errors.UnavailableError as error:
        # After that one a MonitoredSession would try again, for ever.
        raise tf.errors.FailedPreconditionError(None, None, error.message) from None
    for name, addresses in tasks.items():
        job = config.cluster_def.job.add(name=name)
        job.tasks.update(enumerate(addresses))
    return config
