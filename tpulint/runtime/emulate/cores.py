"""The emulated cores that tensors and variables are on, and the memory of these cores."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime import emulator
from tpulint.runtime.pods.devices import (
    COORDINATORS_CPU,
    host_of,
    hosts_are_apart,
    is_emulated,
    is_there,
    on_pod,
    run_by,
)
from tpulint.runtime.pods.placement import PLACED, asked_for_or
from tpulint.runtime.tensorflow_internals.modules import (
    eager_context,
    ops,
    packed_distributed_variable,
    pywrap_tfe,
    save_context,
    tpu_replicated_variable,
    tpu_util,
    xla_data_pb2,
    xla_sharding,
)
from tpulint.runtime.tensorflow_internals.patching import patched

_IN_OPTIONAL = "_tpulint_cores_in"
OutputCores = Mapping[str, Callable[[str, Sequence[Any]], Sequence[str | None]]]
"""By the name of a function, a callable that returns the cores of its outputs, given the device
that it is called on and its arguments."""


def core_of(value: Any) -> str | None:
    """Return the core of an eager tensor, or of an operation of a graph that is placed on one."""
    core: str | None = getattr(value, PLACED, None)
    return core


def set_core(values: Any, device: str | None) -> None:
    """Make the eager tensors in `values` report `device` as theirs, if that is emulated."""
    if not device or not is_emulated(device):
        return
    for value in values if isinstance(values, list) else [values]:
        if isinstance(value, list):
            set_core(value, device)
        elif isinstance(value, ops.EagerTensor):
            setattr(value, PLACED, device)


@contextlib.contextmanager
def cores_reported(
    functions: OutputCores, holds_computation: Callable[[str], bool]
) -> Iterator[None]:
    """Let tensors made under `tf.device("/device:TPU:1")` in the context report that device.

    The outputs of a function report the devices that `functions` gives. A function that
    `holds_computation` runs in this process, which sends each host its part, wherever it is called.
    """
    kind = ops.EagerTensor
    with contextlib.ExitStack() as places:
        for name, new in _executing(functions, holds_computation).items():
            places.enter_context(patched(f"tensorflow.python.pywrap_tfe.{name}", new))
        for name in ("device", "backing_device"):
            own = asked_for_or(kind.__dict__[name])
            target = f"tensorflow.python.framework.ops.EagerTensor.{name}"
            places.enter_context(patched(target, own))
        yield


def _executing(
    functions: OutputCores, holds_computation: Callable[[str], bool]
) -> dict[str, Callable[..., Any]]:
    fast, slow = pywrap_tfe.TFE_Py_FastPathExecute, pywrap_tfe.TFE_Py_Execute
    cancelable = pywrap_tfe.TFE_Py_ExecuteCancelable

    def say(results: Any, operation: Any, device: str | None, arguments: Sequence[Any]) -> Any:
        name = _name(operation)
        is_function = name in functions or eager_context.context().has_function(name)
        if device and is_emulated(device) and (on_pod(device) or not is_function):
            set_core(results, host_of(device) if is_function else device)
        if name in functions:
            for result, core in zip(results, functions[name](device or "", arguments)):
                set_core(result, core)
        _through_optional(name, [arguments] if name == "OptionalFromValue" else arguments, results)
        return results

    def fast_path_execute(ctx: Any, *args: Any) -> Any:
        results = fast(ctx, *args)
        set_core(results, ctx.device_name)
        operation, _, *arguments = args
        _through_optional(operation, arguments, results)
        return results

    def run(with_: Any, handle: Any, device: Any, operation: Any, *args: Any) -> Any:
        if hosts_are_apart() and holds_computation(_name(operation)):
            found = with_(handle, COORDINATORS_CPU, operation, *args)
        else:
            found = with_(handle, run_by(device) if is_there(device) else device, operation, *args)
        return say(found, operation, device, args[0])

    return {
        "TFE_Py_FastPathExecute": fast_path_execute,
        "TFE_Py_Execute": functools.partial(run, slow),
        "TFE_Py_ExecuteCancelable": functools.partial(run, cancelable),
    }


def _name(operation: Any) -> str:
    return operation.decode() if isinstance(operation, bytes) else operation


def _through_optional(operation: str, arguments: Sequence[Any], results: Any) -> None:
    """Let what comes out of an eager optional report the cores that went into it."""
    if operation == "OptionalFromValue":
        (optional,) = results if isinstance(results, list) else [results]
        setattr(optional, _IN_OPTIONAL, [core_of(one) for one in arguments[0]])
    elif operation == "OptionalGetValue":
        for result, core in zip(results, getattr(arguments[0], _IN_OPTIONAL, ())):
            set_core(result, core)


def unpacked(variables: Sequence[Any]) -> list[Any]:
    """Return `variables`, or those in the one packed variable among them, one a core."""
    (first, *_) = variables
    if isinstance(first, packed_distributed_variable.PackedDistributedVariable):
        return list(first._distributed_variables)
    return list(variables)


@contextlib.contextmanager
def packed_variables_unpacked() -> Iterator[None]:
    """Let a packed variable in a graph, outside computations, be that of the current core.

    TensorFlow finds that when it places the graph; here all cores are one device to it.
    """
    packed = packed_distributed_variable.PackedDistributedVariable
    real = packed.handle

    def handle(self: Any) -> Any:
        if tf.executing_eagerly() or tpu_util.enclosing_tpu_context() is not None:
            return real.fget(self)
        try:
            return self.get_var_on_current_device().handle
        except ValueError:  # not on any of its cores
            return real.fget(self)

    target = (
        "tensorflow.python.distribute.packed_distributed_variable.PackedDistributedVariable.handle"
    )
    with patched(target, property(handle)):
        yield


class _Touched(list[dict[int, Any]]):
    """By id, the variables whose first copy the computations take that are built now.

    The innermost computation is the last one.
    """


@contextlib.contextmanager
def first_copies_taken() -> Iterator[None]:
    """Let computations in the context take the first of a variable's copies on several cores."""
    kind = tpu_replicated_variable.TPUReplicatedVariable
    real = kind.handle

    def handle(self: Any) -> Any:
        is_whole = save_context.in_save_context() or tf.executing_eagerly()
        touched = emulator.current_part(_Touched)
        if is_whole or tpu_util.enclosing_tpu_context() is None or not touched:
            return real.fget(self)
        touched[-1][id(self)] = self
        with tpu_util.outside_or_skip_tpu_context():
            return self._vars[0].handle

    target = "tensorflow.python.distribute.tpu_replicated_variable.TPUReplicatedVariable.handle"
    with patched(target, property(handle)):
        yield


@contextlib.contextmanager
def copies_assigned() -> Iterator[None]:
    """Make all copies equal after a computation in a function, which is built in the context."""
    touched: dict[int, Any] = {}
    being_built = emulator.current_part(_Touched)
    being_built.append(touched)
    try:
        yield
    finally:
        being_built.remove(touched)
    for variable in touched.values():
        first, *others = variable._vars
        for other in others:
            other.assign(first.read_value(), read_value=False)


def tiles_of(value: Any) -> list[int] | None:
    """Return the number of shards of `value` along each axis, or None if it is not split."""
    if not isinstance(value, tf.Tensor):
        return None
    sharding = xla_sharding.get_tensor_sharding(value)
    tiles = xla_sharding.get_sharding_tile_shape(sharding)
    return list(tiles) if tiles and max(tiles) > 1 else None


@dataclass(frozen=True)
class Parts:
    """The logical cores that get a part of a tensor, and the number of parts along each axis.

    Without `counts`, each of the cores gets all of it.
    """

    cores: tuple[int, ...]
    counts: tuple[int, ...] = ()


def parts_of_outputs(op: Any, num_cores: int) -> list[Parts] | None:
    """Return the parts of the outputs of `op` on the cores, or None if it has no sharding."""
    try:
        sharding = xla_data_pb2.OpSharding.FromString(op.get_attr("_XlaSharding"))
    except ValueError:
        return None
    if sharding.type != xla_data_pb2.OpSharding.TUPLE:
        return None
    return [_parts_of(one, num_cores) for one in sharding.tuple_shardings]


def _parts_of(sharding: Any, num_cores: int) -> Parts:
    if sharding.type == xla_data_pb2.OpSharding.REPLICATED:
        return Parts(tuple(range(num_cores)))
    cores = tuple(sharding.tile_assignment_devices)
    if sharding.type == xla_data_pb2.OpSharding.MAXIMAL:
        return Parts(cores)
    return Parts(cores, tuple(sharding.tile_assignment_dimensions))


def joined(shards: Sequence[Any], counts: Sequence[int]) -> Any:
    """Return the tensor that consists of `shards`, `counts` along its axes, the last fastest."""
    left = list(shards)
    for axis, count in reversed(list(enumerate(counts))):
        left = [tf.concat(left[i : i + count], axis) for i in range(0, len(left), count)]
    return left[0]


@contextlib.contextmanager
def manual_sharding_refused() -> Iterator[None]:
    """Refuse a switch to programs for single shards in the context: there is one core."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            "the emulated TPU runs a replica on one core, and cannot switch to manual partitioning"
        )

    with (
        patched("tensorflow.compiler.tf2xla.python.xla.spmd_full_to_shard_shape", refuse),
        patched("tensorflow.compiler.tf2xla.python.xla.spmd_shard_to_full_shape", refuse),
    ):
        yield


_VARIABLE = "_tpulint_variable"
"""The attribute of a handle that holds the memory of its variable, and the name."""


class TPUMemory:
    """The memory of an emulated TPU from one initialization of its system to the next."""

    def __init__(self) -> None:
        self.is_cleared = False
        self.cleared_at: str | None = None
        """The user's line that has initialized the system again."""

    def clear(self, place: str | None) -> None:
        """Lose what is in the memory."""
        self.is_cleared, self.cleared_at = True, place


@contextlib.contextmanager
def variables_in_memory(
    current_memory: Callable[[], TPUMemory], fault: Callable[[str, TPUMemory], Exception]
) -> Iterator[None]:
    """Raise `fault(name, memory)` where a variable is used that a cleared `memory` has lost.

    Those that are made on a core in the context are in `current_memory()`.
    """
    fast, pack = pywrap_tfe.TFE_Py_FastPathExecute, pywrap_tfe.TFE_Py_PackEagerTensors

    def refuse_lost(values: Iterable[Any]) -> None:
        for value in values:
            handle = getattr(value, "_handle", value)  # of a variable, which C++ reads
            if isinstance(handle, (list, tuple)) and handle and tf.is_tensor(handle[0]):
                refuse_lost(handle)
            memory, name = getattr(handle, _VARIABLE, None) or (None, "")
            if memory is not None and memory.is_cleared:
                raise fault(name, memory)

    def fast_path_execute(ctx: Any, operation: str, name: Any, *arguments: Any) -> Any:
        if operation != "DestroyResourceOp":
            refuse_lost(arguments)
        results = fast(ctx, operation, name, *arguments)
        if operation == "VarHandleOp" and core_of(results):
            setattr(results, _VARIABLE, (current_memory(), str(name).rstrip("/")))
        return results

    def run(with_: Any, ctx: Any, device: Any, operation: Any, inputs: Any, *others: Any) -> Any:
        refuse_lost(inputs)
        return with_(ctx, device, operation, inputs, *others)

    def pack_eager_tensors(ctx: Any, tensors: Sequence[Any]) -> Any:
        packed = pack(ctx, tensors)
        setattr(packed, _VARIABLE, getattr(tensors[0], _VARIABLE, None))
        return packed

    replaced: dict[str, Callable[..., Any]] = {
        "TFE_Py_FastPathExecute": fast_path_execute,
        "TFE_Py_PackEagerTensors": pack_eager_tensors,
    }
    for name in ("TFE_Py_Execute", "TFE_Py_ExecuteCancelable"):
        replaced[name] = functools.partial(run, getattr(pywrap_tfe, name))
    with contextlib.ExitStack() as places:
        for name, function in replaced.items():
            places.enter_context(patched(f"tensorflow.python.pywrap_tfe.{name}", function))
        yield
