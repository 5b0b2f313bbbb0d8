"""The hosts of an emulated pod: tasks of a job, which this process or others run."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.emulated_placement import PLACED
from tpulint.runtime.tensorflow_internals.modules import (
    constant_op,
    eager_context,
    functional_ops,
    ops,
)
from tpulint.runtime.tensorflow_internals.patching import patched
from tpulint.runtime.tensorflow_internals.pods import (
    COORDINATOR,
    current_pod,
    is_there,
    names_only_host,
    on_pod,
)
from tpulint.runtime.tensorflow_internals.processes import run_by

_CONTEXT = "tensorflow.python.eager.context.Context"


@contextlib.contextmanager
def clusters_connected(prepare: Callable[[Any, tuple[str, ...]], None]) -> Iterator[None]:
    """Let programs in the context connect to the hosts of the pod.

    If those are processes, `prepare` is called first, with the ServerDef and their addresses.
    """
    context, connecting = eager_context.Context, ("set_server_def", "update_server_def")

    def connected(connect: Callable[..., None]) -> Callable[..., None]:
        def connect_to_hosts(self: Any, server_def: Any, *args: Any, **kwargs: Any) -> None:
            pod = current_pod()
            jobs = {job.name for job in server_def.cluster.job} - {server_def.job_name, COORDINATOR}
            pod.job = min(jobs, default=pod.job)
            if pod.workers:
                # A function that goes later would be removed from hosts that never had it, and the
                # error would be told with whatever comes next.
                gc.collect()
                prepare(server_def, pod.workers)
                connect(self, server_def, *args, **kwargs)
            pod.is_connected = True

        return connect_to_hosts

    def configure_coordination_service(*_: Any, **__: Any) -> None:
        """Do nothing: there is nothing to coordinate."""

    with contextlib.ExitStack() as patches:
        for name in connecting:
            new = connected(getattr(context, name))
            patches.enter_context(patched(f"{_CONTEXT}.{name}", new))
        target = f"{_CONTEXT}.configure_coordination_service"
        patches.enter_context(patched(target, configure_coordination_service))
        yield


@contextlib.contextmanager
def no_wait_for_lost_hosts(lost_host: Callable[[], str | None]) -> Iterator[None]:
    """Let no program wait for all that its hosts do when one of them, `lost_host()`, is lost.

    TensorFlow would wait for ever: also at the end of the program, for which a TPUStrategy that is
    made in the context asks.
    """
    wait = eager_context.async_wait

    def async_wait() -> None:
        address = lost_host()
        if address is not None:
            message = f"The host of the pod at {address} does not answer"
            raise tf.errors.UnavailableError(None, None, message)
        wait()

    with patched("tensorflow.python.eager.context.async_wait", async_wait):
        yield


@contextlib.contextmanager
def functions_left_alone() -> Iterator[None]:
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


@contextlib.contextmanager
def hosts_placed() -> Iterator[None]:
    """Let the process that is a host of the pod run what is placed there, in the context.

    The program sees the device scopes that it enters; TensorFlow's C++ sees where it runs.
    """
    kind = eager_context.Context
    name_of, set_device = kind.device_name, kind._set_device
    copy, remote_call = ops.EagerTensor._copy_nograd, functional_ops.remote_call
    constant = constant_op.convert_to_eager_tensor

    def device_name(self: Any) -> Any:
        name: str | None = name_of.fget(self)
        asked_for: str = self.device_spec.to_string() if name else ""
        is_of_host = bool(name) and (current_pod().is_connected or names_only_host(asked_for))
        return asked_for if is_of_host else name

    def _set_device(self: Any, name: Any, spec: Any) -> None:
        set_device(self, run_by(name) if is_there(name) else name, spec)

    def convert_to_eager_tensor(value: Any, ctx: Any, dtype: Any = None) -> Any:
        asked_for = ctx.device_name
        if not is_there(asked_for):
            return constant(value, ctx, dtype)
        found = constant(value, _ContextHere(run_by(asked_for)), dtype)
        if found is not value:
            setattr(found, PLACED, asked_for)
        return found

    def _copy_nograd(self: Any, ctx: Any = None, device_name: Any = None) -> Any:
        asked_for = device_name or eager_context.context().device_name
        return copy(self, ctx, run_by(asked_for) if is_there(asked_for) else device_name)

    def call(target: Any, *args: Any, **kwargs: Any) -> Any:
        value = tf.get_static_value(target) if isinstance(target, tf.Tensor) else target
        name = value.decode() if isinstance(value, bytes) else value
        here = run_by(name) if isinstance(name, str) and on_pod(name) else target
        return remote_call(here, *args, **kwargs)

    framework = "tensorflow.python.framework"
    with (
        patched(f"{_CONTEXT}.device_name", property(device_name)),
        patched(f"{_CONTEXT}._set_device", _set_device),
        patched(f"{framework}.constant_op.convert_to_eager_tensor", convert_to_eager_tensor),
        patched(f"{framework}.ops.EagerTensor._copy_nograd", _copy_nograd),
        patched("tensorflow.python.ops.functional_ops.remote_call", call),
    ):
        yield


@dataclass(frozen=True)
class _ContextHere:
    """The part of TensorFlow's context that makes a constant, on a device that it knows."""

    device_name: str

    def ensure_initialized(self) -> None:
        eager_context.context().ensure_initialized()
