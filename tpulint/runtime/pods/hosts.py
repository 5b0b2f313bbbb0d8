"""The hosts of an emulated pod: tasks of a job, to which the program connects."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import HostOnlyInputError
from tpulint.runtime.pods.connections import announce_address, lost_host
from tpulint.runtime.pods.devices import COORDINATOR, current_pod, is_on_pod
from tpulint.runtime.source_location import operation_location
from tpulint.runtime.tensorflow_internals.modules import device_util, eager_context
from tpulint.runtime.tensorflow_internals.patching import When, patch

_CONTEXT = "tensorflow.python.eager.context.Context"
_MACHINES = "the hosts of a pod are processes, or this one, and the program sees them as machines"


@patch(f"{_CONTEXT}.set_server_def", why=_MACHINES, when=When.EMULATED)
@patch(f"{_CONTEXT}.update_server_def", why=_MACHINES, when=When.EMULATED)
def _connect_to_hosts(
    connect: Callable[..., None], self: Any, server_def: Any, *args: Any, **kwargs: Any
) -> None:
    pod = current_pod()
    jobs = {job.name for job in server_def.cluster.job} - {server_def.job_name, COORDINATOR}
    pod.job = min(jobs, default=pod.job)
    if pod.workers:
        # A function that goes later would be removed from hosts that never had it, and the error
        # would be told with whatever comes next.
        gc.collect()
        announce_address(server_def, pod.workers)
        connect(self, server_def, *args, **kwargs)
    pod.is_connected = True


@patch(f"{_CONTEXT}.configure_coordination_service", why=_MACHINES, when=When.EMULATED)
def _configure_coordination_service(*_: Any, **__: Any) -> None:
    """Do nothing: there is nothing to coordinate."""


@patch(
    "tensorflow.python.eager.context.async_wait",
    why="nothing waits for a host of a pod that is lost, also not at the end of the program",
    when=When.EMULATED,
)
def _wait_unless_lost(wait: Callable[[], None]) -> None:
    """TensorFlow would wait for ever: also at the end, for which a TPUStrategy asks."""
    address = lost_host()
    if address is not None:
        message = f"The host of the pod at {address} does not answer"
        raise tf.errors.UnavailableError(None, None, message)
    wait()


@contextlib.contextmanager
def function_optimizer_disabled() -> Iterator[None]:
    """Let TensorFlow change no function in the context, if the hosts are processes.

    They would refuse a function of which they have another version: with 2.12 and 2.15 those that
    Grappler has optimized, if they hold others. With 2.21 they accept both.
    """
    context, options = eager_context.context(), "_optimizer_experimental_options"
    before = dict(getattr(context, options))
    release = tuple(map(int, tf.__version__.split(".")[:2]))
    if current_pod().workers and release < (2, 21):
        context.set_optimizer_experimental_options({"disable_meta_optimizer": True})
    try:
        yield
    finally:
        getattr(context, options).clear()
        context.set_optimizer_experimental_options(before)


@contextlib.contextmanager
def device_scope_restored() -> Iterator[None]:
    """Leave at the end the device scope that a program has entered by connecting to a pod."""
    context = eager_context.context()
    scope = context.device_name, context.device_spec
    try:
        yield
    finally:
        context._set_device(*scope)


_PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


@patch(
    "tensorflow.python.data.ops.dataset_ops.DatasetV2._apply_debug_options",
    why="a pipeline on a host of a pod runs no Python of the program",
    when=When.EMULATED,
)
def _refuse_python_on_hosts(original: Callable[..., Any], self: Any) -> Any:
    """TensorFlow calls this method just before it makes an iterator."""
    host = device_util.current() or self._variant_tensor.device
    if is_on_pod(host):
        refuse_python(self, host)
    return original(self)


def python_operation(dataset: Any) -> Any:
    """Return an operation of `dataset`, or of what it is made of, that calls Python, or None."""
    datasets, graphs = [dataset], []
    while datasets:
        part = datasets.pop()
        datasets += part._inputs()
        graphs += [function.function.graph for function in part._functions()]
    seen: set[int] = set()
    while graphs:
        graph = graphs.pop()
        if id(graph) in seen:
            continue
        seen.add(id(graph))
        for op in graph.get_operations():
            if op.type in _PYTHON:
                return op
        inner = (getattr(function, "graph", None) for function in graph._functions.values())
        graphs += [inner_graph for inner_graph in inner if inner_graph is not None]
    return None


def refuse_python(dataset: Any, host: str) -> None:
    """Raise an error if `dataset`, which runs on `host`, calls Python of the program.

    Raises:
        HostOnlyInputError: it does, by `py_function`, `numpy_function` or `from_generator`.
    """
    op = python_operation(dataset)
    if op is not None:
        raise HostOnlyInputError(
            f"No registered '{op.type}' OpKernel on '{host}': the pipeline runs on a host of the "
            "TPU, and the Python function is in the process of the program",
            place=operation_location(op),
        )
