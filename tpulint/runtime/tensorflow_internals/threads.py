"""The threads in which TensorFlow runs graphs, and the waits of Python functions in them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.graphs import (
    GraphContents,
    contents_of_function,
    contents_of_session,
)
from tpulint.runtime.tensorflow_internals.modules import eager_context, execute, pywrap_tfe, session
from tpulint.runtime.tensorflow_internals.operations import name_of
from tpulint.runtime.tensorflow_internals.patching import When, installed, patch, patch_value
from tpulint.runtime.tensorflow_internals.tracebacks import frames_hidden

_RUNS_FUNCTIONS = frozenset(
    {execute.quick_execute.__code__, execute.execute_with_cancellation.__code__}
)
_RUNTIME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_REPLACEMENTS = tuple(
    os.path.join(_RUNTIME, name, "") for name in ("emulate", "tensorflow_internals")
)
"""The files whose functions stand in for TensorFlow's that run operations."""
_RUNS_SESSIONS = session.BaseSession._call_tf_sessionrun.__code__
_RUNS_CALLABLES = session.BaseSession._Callable.__call__.__code__


class Awaited(NamedTuple):
    """The work that a Python thread waits for while TensorFlow does it in threads of its own.

    `probe()` waits for one of the same threads, and ends when it has had one.
    """

    name: str
    probe: Callable[[], Any]


def is_tensorflows_thread() -> bool:
    """Return whether TensorFlow, not Python, started the current thread."""
    return isinstance(threading.current_thread(), threading._DummyThread)


def num_threads() -> int:
    """Return how many operations TensorFlow runs at once, unless a session has its own threads."""
    # The property would make a whole new configuration at each call of a Python function.
    context = eager_context.context()
    configured = 0 if context._config is None else context._config.inter_op_parallelism_threads
    return int(context._inter_op_parallelism_threads or configured or _num_cores())


@functools.lru_cache(maxsize=1)
def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def awaited_by_thread(thread: int) -> Awaited | None:
    """Return the work of TensorFlow that the Python thread of that number waits for, or None."""
    frame = _innermost_frame(thread)
    if frame is None:
        return None
    if frame.f_code is _RUNS_SESSIONS:
        return Awaited("a session", _probe_sessions)
    if frame.f_code in _RUNS_FUNCTIONS:
        name = str(frame.f_locals["op_name"])
        if eager_context.context().has_function(name):
            own_name = re.sub(r"^__inference_(.+)_\d+$", r"\1", name)
            return Awaited(f"the function '{own_name}'", _probe_functions)
    return None


def graph_in_call(thread: int) -> GraphContents | None:
    """Return what the graph that the Python thread runs has in it.

    None where it runs no graph. An operation that is run eagerly has nothing in it.
    """
    frame = _innermost_frame(thread)
    if frame is None:
        return None
    local = frame.f_locals
    if frame.f_code is _RUNS_SESSIONS:
        return contents_of_run(local["self"], local["fetch_list"], local["target_list"])
    if frame.f_code is _RUNS_CALLABLES:
        return contents_of_session(local["self"]._session)
    if frame.f_code in _RUNS_FUNCTIONS:
        return contents_of_function(str(local["op_name"]))
    return None


def contents_of_run(session: Any, fetches: Sequence[Any], targets: Sequence[Any]) -> GraphContents:
    """Return what a run of `session` for these fetches and targets has in it."""
    fetched = [*(output.oper for output in fetches), *targets]
    return contents_of_session(session, list(map(name_of, fetched)))


moments = itertools.count()
"""Numbers in the order in which they are taken: of calls as they begin, and of faults."""
_in_thread = threading.local()


class GraphCall:
    """A call of a function, or a run of a session, as a context of the thread that makes it.

    `contents` returns what its graph has in it.
    """

    def __init__(self, contents: Callable[[], GraphContents]) -> None:
        self.began = next(moments)
        self.contents = contents
        self.message = ""
        """What the error says with which the call has ended."""
        self._outer: GraphCall | None = None

    def __enter__(self) -> None:
        self._outer = getattr(_in_thread, "call", None)
        _in_thread.call, _in_thread.failed = self, None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        _in_thread.call = self._outer
        if error is not None:
            self.message = str(getattr(error, "message", error))
            _in_thread.failed = self


def call_of_error(message: str) -> GraphCall | None:
    """Return the call whose error is being made in this thread; None where it is of no call.

    The error of a function is made when the call has ended, that of a session before.
    """
    failed: GraphCall | None = getattr(_in_thread, "failed", None)
    # TensorFlow appends the name of the operation.
    if failed is not None and message.startswith(failed.message):
        return failed
    call: GraphCall | None = getattr(_in_thread, "call", None)
    return call


_KNOWN_CALLS = "an error of a cancelled step names the fault of its own call"


@patch("tensorflow.python.pywrap_tfe.TFE_Py_Execute", why=_KNOWN_CALLS)
@patch("tensorflow.python.pywrap_tfe.TFE_Py_ExecuteCancelable", why=_KNOWN_CALLS)
def _note_call(
    run: Callable[..., Any], handle: Any, device: Any, operation: Any, *arguments: Any
) -> Any:
    with GraphCall(lambda: contents_of_function(str(operation))):
        return run(handle, device, operation, *arguments)


@patch_value("tensorflow.python.client.session.BaseSession._call_tf_sessionrun", why=_KNOWN_CALLS)
def _note_run(run: Callable[..., Any]) -> Callable[..., Any]:
    @frames_hidden
    def call(self: Any, options: Any, feeds: Any, fetches: Any, targets: Any, metadata: Any) -> Any:
        with GraphCall(lambda: contents_of_run(self, fetches, targets)):
            return run(self, options, feeds, fetches, targets, metadata)

    return call


@patch_value("tensorflow.python.client.session.BaseSession._Callable.__call__", why=_KNOWN_CALLS)
def _note_run_of_callable(run: Callable[..., Any]) -> Callable[..., Any]:
    @frames_hidden
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        with GraphCall(lambda: contents_of_session(self._session)):
            return run(self, *arguments, **options)

    return call


def ready_threads() -> list[str] | None:
    """Return the numbers of the other threads of this process that compute, or wait for a core.

    A thread that waits for a disk counts as well. None where the system does not tell.
    """
    try:
        names = os.listdir(_TASKS)
    except OSError:
        return None
    names.remove(str(threading.get_native_id()))
    return [name for name in names if _state_of_thread(name) in ("R", "D")]


_TASKS = "/proc/self/task"


def _state_of_thread(name: str) -> str:
    try:
        with open(f"{_TASKS}/{name}/stat") as file:
            # The name of the thread is in parentheses, and may contain anything.
            return file.read().rpartition(")")[2].split()[0]
    except OSError:  # it has ended
        return ""


def _innermost_frame(thread: int) -> FrameType | None:
    for frame in _frames(thread):  # the emulator is in between (see emulate.cores)
        if not frame.f_code.co_filename.startswith(_REPLACEMENTS):
            return frame
    return None


def stack_of_thread(thread: int) -> list[tuple[str, int]]:
    """Return (file, line) of each Python frame of that thread, outermost first."""
    return [(frame.f_code.co_filename, frame.f_lineno) for frame in _frames(thread)][::-1]


def _frames(thread: int) -> Iterator[FrameType]:
    """Yield the Python frames of that thread, innermost first."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _probe_functions() -> None:
    tf.compat.v1.wrap_function(_computed, [])()


def _probe_sessions() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as probe:
        probe.run(_computed())


def _computed() -> Any:
    """Return a tensor that TensorFlow cannot fold. Op determinism asks for the seed."""
    return tf.raw_ops.RandomUniform(shape=[1], dtype=tf.float32, seed=1)


@contextlib.contextmanager
def cancellable_calls() -> Iterator[Callable[[], None]]:
    """Yield a function that cancels all functions of TensorFlow that are running."""
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=_calls.note_fork)
    with installed(When.INTERRUPTIBLE):
        yield _calls.cancel


_FORKED = (
    "This process was forked from one that had already called a tf.function. A fork has none of "
    "TensorFlow's threads, so the call would wait for them forever, with or without a TPU: start "
    "the process before the first step"
)


class _Calls:
    """The cancellation managers of the calls that run now, in any thread.

    Functions that are called after `cancel` run.
    """

    def __init__(self) -> None:
        self.managers: dict[object, Any] = {}
        """By call, as several may share one of the user's. It has no lock: a single operation on a
        dict is atomic in CPython."""
        self.kept: list[Any] = []
        self._has_begun = self._lacks_threads = False

    def note_fork(self) -> None:
        """Note that this process is a fork, to which TensorFlow's threads were not copied."""
        self._lacks_threads = self._has_begun

    def begin(self) -> None:
        """Note that a function is to be called, or raise a RuntimeError if it would never end."""
        if self._lacks_threads:
            raise RuntimeError(_FORKED)
        self._has_begun = True

    def cancel(self) -> None:
        """Cancel the calls that run now."""
        for manager in tuple(self.managers.values()):
            pywrap_tfe.TFE_CancellationManagerStartCancel(manager)


_calls = _Calls()


@patch(
    "tensorflow.python.pywrap_tfe.TFE_Py_Execute",
    why="Ctrl-C cancels the functions that run",
    when=When.INTERRUPTIBLE,
)
def _execute(
    run: Callable[..., Any], handle: Any, device: Any, operation: Any, *arguments: Any
) -> Any:
    context = eager_context.context()
    # A call of an asynchronous executor returns before it has run.
    if context.is_async() or not context.has_function(operation):
        return run(handle, device, operation, *arguments)
    _calls.begin()
    *inputs_and_attributes, outputs = arguments
    # TensorFlow cancels the manager of a call that fails: each call needs its own.
    manager = pywrap_tfe.TFE_NewCancellationManager()
    # A call that a worker runs returns at once. TensorFlow uses its manager when the worker has
    # answered, and crashes if it is gone (`RemoteExecuteNode::RunAsync`).
    if context.get_server_def() is not None:
        _calls.kept.append(manager)
    # As an attribute of the module, it may be a replacement, which has to see the call, too.
    execute = pywrap_tfe.TFE_Py_ExecuteCancelable
    return execute(handle, device, operation, *inputs_and_attributes, manager, outputs)


@patch(
    "tensorflow.python.pywrap_tfe.TFE_Py_ExecuteCancelable",
    why="Ctrl-C cancels the functions that run",
    when=When.INTERRUPTIBLE,
)
def _execute_cancellable(run: Callable[..., Any], *arguments: Any) -> Any:
    *_, manager, _outputs = arguments
    call = object()
    try:
        _calls.managers[call] = manager
        return run(*arguments)
    finally:
        _calls.managers.pop(call, None)


def close_sessions_of_thread(thread: int) -> None:
    """Close the sessions that the Python thread of that number runs, which ends their steps."""
    for frame in _frames(thread):
        if frame.f_code.co_filename == session.__file__:
            caller = frame.f_locals.get("self")  # a session, or a result of `make_callable`
            for running in (caller, getattr(caller, "_session", None)):
                if isinstance(running, session.BaseSession):
                    running.close()
                    return
