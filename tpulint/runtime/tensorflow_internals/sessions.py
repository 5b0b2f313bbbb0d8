"""Sessions: what they place, and how long they live."""

from __future__ import annotations

import collections
import functools
import weakref
from contextlib import AbstractContextManager
from typing import Any

from tpulint.runtime.tensorflow_internals.modules import config_pb2, eager_context, session
from tpulint.runtime.tensorflow_internals.patching import patched
from tpulint.runtime.tensorflow_internals.pods import current_pod, has_workers, is_master

SERVED = "_tpulint_served"
"""The attribute of a session that holds whether a host of the emulated pod serves it."""
_alive: weakref.WeakSet[Any] = weakref.WeakSet()
_kept: collections.deque[tuple[Any, ...]] = collections.deque(maxlen=8)


def sessions_place_only_what_they_run() -> AbstractContextManager[None]:
    """Return a context in which new sessions leave operations that they do not run unplaced.

    A session places its whole graph, and would refuse one that holds marked nodes: some have no
    kernel. What a session would ask of the emulated pod's hosts, it asks of this process, unless
    they are processes of their own (see remote_sessions).
    """
    original = session.BaseSession.__init__

    @functools.wraps(original)
    def __init__(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        served = is_master(target)
        if served and not has_workers():
            target = ""
        is_local = not target  # a server does not have the option
        if is_local and (config is None or isinstance(config, config_pb2.ConfigProto)):
            own = config_pb2.ConfigProto()
            own.CopyFrom(config if config is not None else eager_context.context().config)
            own.graph_options.place_pruned_graph = True
            config = own
        setattr(self, SERVED, served)
        original(self, target, graph, config)
        _alive.add(self)

    return patched("tensorflow.python.client.session.BaseSession.__init__", __init__)


def is_on_emulated_tpu(of: Any) -> bool:
    """Return whether the session `of` sees the cores of the emulated TPU."""
    return not current_pod().is_remote or getattr(of, SERVED, False)


def sessions_outlive_failed_calls() -> AbstractContextManager[None]:
    """Return a context in which `close` only marks the sessions of `keep_sessions` as closed."""
    original = session.BaseSession.close

    @functools.wraps(original)
    def close(self: Any) -> None:
        if any(self in kept for kept in _kept):
            self._closed = True
        else:
            original(self)

    return patched("tensorflow.python.client.session.BaseSession.close", close)


def keep_sessions() -> None:
    """Keep the open sessions after the program has closed or dropped them, for a while.

    A function call that cannot be instantiated reports it while it holds a mutex of its kernel
    (PartitionedCallOp::ComputeAsync in partitioned_function_ops.cc). A session that is closed
    before the mutex is released deletes it too, and the process is aborted. The next failures
    let go of the session, and with its last reference TensorFlow deletes it.
    """
    _kept.append(tuple(each for each in _alive if not each._closed))
