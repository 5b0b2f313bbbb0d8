"""The emulated cores that tensors and variables are on, and the memory of these cores."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import tensorflow as tf

from tpulint.runtime import emulator
from tpulint.runtime.emulate.calls import launch, mark_as_computed, note_computed
from tpulint.runtime.emulate.system import current_state, lost_variable
from tpulint.runtime.pods import devices
from tpulint.runtime.pods.devices import PLACED
from tpulint.runtime.tensorflow_internals import graphs
from tpulint.runtime.tensorflow_internals.modules import (
    eager_context,
    ops,
    packed_distributed_variable,
    save_context,
    tpu_util,
    xla_data_pb2,
    xla_sharding,
)
from tpulint.runtime.tensorflow_internals.patching import emulated_patch

_IN_OPTIONAL = "_tpulint_cores_in"
_OPS = "tensorflow.python.framework.ops"
_VARIABLE = "_tpulint_variable"
"""The attribute of a handle that holds the memory of its variable, and the name."""
_EXECUTE = "tensorflow.python.pywrap_tfe"
REPORTED = "eager tensors report the emulated core that they are on"


def core_of(value: Any) -> str | None:
    """Return the core of an eager tensor, or of an operation of a graph that is placed on one."""
    core: str | None = getattr(value, PLACED, None)
    return core


def set_core(values: Any, device: str | None) -> None:
    """Make the eager tensors in `values` report `device` as theirs, if that is emulated."""
    if not device or not devices.is_emulated(device):
        return
    for value in values if isinstance(values, list) else [values]:
        if isinstance(value, list):
            set_core(value, device)
        elif isinstance(value, ops.EagerTensor):
            setattr(value, PLACED, device)


emulated_patch(f"{_OPS}.EagerTensor.device", why=REPORTED)(devices.asked_for_device)
emulated_patch(f"{_OPS}.EagerTensor.backing_device", why=REPORTED)(devices.asked_for_device)


@emulated_patch(f"{_EXECUTE}.TFE_Py_FastPathExecute", why=REPORTED)
def _run_operation(
    run: Callable[..., Any], ctx: Any, operation: str, name: Any, *arguments: Any
) -> Any:
    """Run an operation; what it makes under `tf.device("/device:TPU:1")` reports that device."""
    # A handle that goes destroys its variable, which is no use of it.
    if operation != "DestroyResourceOp":
        _refuse_lost(arguments)
    results = run(ctx, operation, name, *arguments)
    set_core(results, ctx.device_name)
    _through_optional(operation, arguments, results)
    note_computed(operation, arguments, results)
    # All other variables are in the memory of the host, which keeps them.
    if operation == "VarHandleOp" and core_of(results):
        setattr(results, _VARIABLE, (current_state().memory, str(name).rstrip("/")))
    return results


@emulated_patch(f"{_EXECUTE}.TFE_Py_Execute", why=REPORTED)
@emulated_patch(f"{_EXECUTE}.TFE_Py_ExecuteCancelable", why=REPORTED)
def _run_function(
    run: Callable[..., Any], handle: Any, device: Any, operation: Any, inputs: Any, *others: Any
) -> Any:
    """Run a function, or an operation of any kind, where its device is."""
    _refuse_lost(inputs)
    name = operation.decode() if isinstance(operation, bytes) else operation
    functions = emulator.current_part(FunctionCores)
    is_launch = functions.holds_computation(name)
    # This process leads a step: it sends each host its part.
    if devices.hosts_are_remote() and is_launch:
        where = devices.COORDINATORS_CPU
    else:
        where = devices.executing_device(device) if devices.is_on_connected_host(device) else device
    with launch() if is_launch else contextlib.nullcontext():
        results = run(handle, where, operation, inputs, *others)
    if is_launch:
        mark_as_computed(results)
    is_function = name in functions or eager_context.context().has_function(name)
    if device and devices.is_emulated(device) and (devices.is_on_pod(device) or not is_function):
        set_core(results, devices.host_of(device) if is_function else device)
    if name in functions:
        for result, core in zip(results, functions[name](device or "", inputs)):
            set_core(result, core)
    _through_optional(name, [inputs] if name == "OptionalFromValue" else inputs, results)
    return results


@emulated_patch(
    f"{_EXECUTE}.TFE_Py_PackEagerTensors",
    why="a packed variable is lost with its copies when the system is initialized again",
)
def _pack_eager_tensors(pack: Callable[..., Any], ctx: Any, tensors: Sequence[Any]) -> Any:
    packed_tensor = pack(ctx, tensors)
    setattr(packed_tensor, _VARIABLE, getattr(tensors[0], _VARIABLE, None))
    return packed_tensor


def _refuse_lost(values: Iterable[Any]) -> None:
    """Raise an error where a variable is used that a cleared memory has lost.

    TensorFlow keeps the variables of this process for as long as somebody refers to them.
    """
    for value in values:
        handle = getattr(value, "_handle", value)  # of a variable, which C++ reads
        if isinstance(handle, (list, tuple)) and handle and tf.is_tensor(handle[0]):
            _refuse_lost(handle)
        memory, name = getattr(handle, _VARIABLE, None) or (None, "")
        if memory is not None and memory.is_cleared:
            raise lost_variable(name, memory)


def _through_optional(operation: str, arguments: Sequence[Any], results: Any) -> None:
    """Let what comes out of an eager optional report the cores that went into it."""
    if operation == "OptionalFromValue":
        (optional,) = results if isinstance(results, list) else [results]
        setattr(optional, _IN_OPTIONAL, [core_of(component) for component in arguments[0]])
    elif operation == "OptionalGetValue":
        for result, core in zip(results, getattr(arguments[0], _IN_OPTIONAL, ())):
            set_core(result, core)


def unpack_variables(variables: Sequence[Any]) -> list[Any]:
    """Return `variables`, or those in the one packed variable among them, one a core."""
    (first, *_) = variables
    if isinstance(first, packed_distributed_variable.PackedDistributedVariable):
        return list(first._distributed_variables)
    return list(variables)


@emulated_patch(
    "tensorflow.python.distribute.packed_distributed_variable.PackedDistributedVariable.handle",
    why="a packed variable outside computations is that of the current core",
)
def _packed_handle(original: Callable[[Any], Any], self: Any) -> Any:
    # TensorFlow finds that when it places the graph; here all cores are one device to it.
    if tf.executing_eagerly() or tpu_util.enclosing_tpu_context() is not None:
        return original(self)
    try:
        return self.get_var_on_current_device().handle
    except ValueError:  # not on any of its cores
        return original(self)


class _Touched(list[dict[int, Any]]):
    """By id, the variables whose first copy the computations take that are built now.

    The innermost computation is the last one.
    """


@emulated_patch(
    "tensorflow.python.distribute.tpu_replicated_variable.TPUReplicatedVariable.handle",
    why="a computation takes the first copy of a variable that is on several cores of a replica",
)
def _replicated_handle(original: Callable[[Any], Any], self: Any) -> Any:
    is_whole = save_context.in_save_context() or tf.executing_eagerly()
    touched = emulator.current_part(_Touched)
    if is_whole or tpu_util.enclosing_tpu_context() is None or not touched:
        return original(self)
    touched[-1][id(self)] = self
    with tpu_util.outside_or_skip_tpu_context():
        return self._vars[0].handle


@contextlib.contextmanager
def assign_copies() -> Iterator[None]:
    """Make all copies equal after a computation in a function, which is built in the context."""
    touched: dict[int, Any] = {}
    being_built = emulator.current_part(_Touched)
    being_built.append(touched)
    try:
        yield
    finally:
        being_built.remove(touched)
    # The computation has read and written the first copies alone.
    for variable in touched.values():
        first, *others = variable._vars
        for other in others:
            other.assign(first.read_value(), read_value=False)


def shard_counts(value: Any) -> list[int] | None:
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


def output_parts(op: Any, num_cores: int) -> list[Parts] | None:
    """Return the parts of the outputs of `op` on the cores, or None if it has no sharding."""
    try:
        sharding = xla_data_pb2.OpSharding.FromString(op.get_attr("_XlaSharding"))
    except ValueError:
        return None
    if sharding.type != xla_data_pb2.OpSharding.TUPLE:
        return None
    parts = []
    for part in sharding.tuple_shardings:
        is_replicated = part.type == xla_data_pb2.OpSharding.REPLICATED
        cores = tuple(range(num_cores) if is_replicated else part.tile_assignment_devices)
        is_whole = is_replicated or part.type == xla_data_pb2.OpSharding.MAXIMAL
        parts.append(Parts(cores, () if is_whole else tuple(part.tile_assignment_dimensions)))
    return parts


def join_shards(shards: Sequence[Any], counts: Sequence[int]) -> Any:
    """Return the tensor that consists of `shards`, `counts` along its axes, the last fastest."""
    left = list(shards)
    # The last axis varies fastest: its shards are next to one another.
    for axis, count in reversed(list(enumerate(counts))):
        left = [tf.concat(left[i : i + count], axis) for i in range(0, len(left), count)]
    return left[0]


_ONE_CORE = "a replica is on one core, which cannot switch to programs for single shards"
_XLA = "tensorflow.compiler.tf2xla.python.xla"


@emulated_patch(f"{_XLA}.spmd_full_to_shard_shape", why=_ONE_CORE)
@emulated_patch(f"{_XLA}.spmd_shard_to_full_shape", why=_ONE_CORE)
def _refuse_manual_sharding(*_: Any, **__: Any) -> Any:
    raise NotImplementedError(
        "the emulated TPU runs a replica on one core, and cannot switch to manual partitioning"
    )


_CORES = "_tpulint_cores"
_FUNCTIONS = "tensorflow.python.eager.polymorphic_function"
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_IFS = frozenset({"If", "StatelessIf"})
_ITERATE = frozenset({"IteratorGetNext", "IteratorGetNextAsOptional", "OptionalGetValue"})
"""Their results are on the core of their iterator."""
_HANDLES = frozenset({tf.resource, tf.variant})

_CALLERS = ""
Core = str | int | None
"""The core that an output of a function is on: its name, `_CALLERS` for that of the operation that
calls the function, the number of the argument that is on the same core, or None if on no core."""


def name_results(results: Sequence[Any], device_assignment: Any) -> None:
    """Note the core of each replica's results, if they are of a graph."""
    for replica, result in enumerate(results):
        device = devices.current_pod().core(replica)
        if device_assignment is not None:
            device = device_assignment.tpu_device(replica=replica, job=devices.job_of_cores())
        for tensor in tf.nest.flatten(result, expand_composites=True):
            if isinstance(tensor, tf.Tensor) and not isinstance(tensor, graphs.EagerTensor):
                _cores_in(tensor.graph)[tensor.name] = graphs.canonical_device(device)


def mark_computation() -> None:
    """Note that the graph that is being built, and those around it, hold a TPU computation."""
    for graph in graphs.graphs_outwards(graphs.default_graph()):
        _cores_in(graph)


class FunctionCores(dict[str, Callable[[str, Sequence[Any]], Sequence[str | None]]]):
    """The cores of the outputs of functions made under the emulator."""

    def __init__(self) -> None:
        super().__init__()
        self._holding: set[str] = set()
        self._cores: dict[str, list[Core]] = {}

    def holds_computation(self, name: str) -> bool:
        """Return whether the function `name` holds a TPU computation, or calls one that does."""
        return name in self._holding

    def see(self, name: str, graph: Any, attrs: dict[str, Any]) -> None:
        """Record the cores of a function's outputs as it is made.

        One that holds a computation is not compiled as a whole, whatever it asks for: a TPU
        compiles the computation only.
        """
        if hasattr(graph, _CORES) or not self._holding.isdisjoint(graphs.function_names(graph)):
            self._holding.add(name)
            attrs.pop(graphs.MUST_COMPILE, None)
        # With this attribute outputs are on the device of the operation that calls the function.
        default = _CALLERS if graphs.ON_OP_DEVICE in attrs else None
        cores = [self._core(tensor) for tensor in graph.outputs]
        self._cores[name] = cores = [default if core is None else core for core in cores]
        if any(core is not None for core in cores):
            self[name] = lambda device, arguments: [
                _of_call(core, device, [core_of(argument) for argument in arguments])
                for core in cores
            ]

    def _core(self, tensor: Any, component: int | None = None) -> Core:
        """Return the core of `tensor`, of a graph, or of `component` of it, an optional."""
        cores_of_results = getattr(tensor.graph, _CORES, {})
        # A tf.function passes what it returns through identities.
        while tensor.name not in cores_of_results and tensor.op.type == "Identity":
            if devices.is_emulated(tensor.op.device):
                break
            tensor = tensor.op.inputs[0]
        op = tensor.op
        if op.type in _CALLS:
            outputs = self._cores.get(op.get_attr("f").name, ())
            core = outputs[tensor.value_index] if outputs else None
            return op.device if core == _CALLERS else self._with(core, op.inputs)
        if op.type in _IFS:
            branches = [
                graph.outputs[tensor.value_index] for graph in graphs.functions_by_name(op).values()
            ]
            cores = [
                self._with(self._core(output, component), op.inputs[1:]) for output in branches
            ]
            return next((core for core in cores if core is not None), core_of(op))
        if op.type == "OptionalFromValue" and component is not None:
            return self._core(op.inputs[component])
        if op.type in _ITERATE:
            return self._core(op.inputs[0], tensor.value_index)
        if op.type == "Placeholder" and tensor.dtype in _HANDLES:
            names = [input_.name for input_ in tensor.graph.inputs]
            return names.index(tensor.name) if tensor.name in names else None
        result_core: str | None = cores_of_results.get(tensor.name)
        if result_core is None and devices.is_emulated(tensor.op.device):
            return graphs.canonical_device(tensor.op.device)  # type: ignore[no-any-return]
        return result_core

    def _with(self, core: Core, arguments: Sequence[Any]) -> Core:
        """Return `core` of a function's output where it is called with `arguments`."""
        return self._core(arguments[core]) if isinstance(core, int) else core


@emulated_patch(
    f"{_FUNCTIONS}.monomorphic_function._EagerDefinedFunction.__init__",
    why=REPORTED,
    until="2.12",
    unless=f"{_FUNCTIONS}.atomic_function",
)
def _initialize_function(
    initialize: Callable[..., None],
    self: Any,
    name: Any,
    graph: Any,
    inputs: Any,
    outputs: Any,
    attrs: Any,
) -> None:
    attrs = {} if attrs is None else attrs
    emulator.current_part(FunctionCores).see(graphs.text_of(name), graph, attrs)
    initialize(self, name, graph, inputs, outputs, attrs)


@emulated_patch(f"{_FUNCTIONS}.atomic_function.from_func_graph", why=REPORTED, since="2.15")
def _make_function(
    make: Callable[..., Any], name: Any, graph: Any, attrs: Any, *args: Any, **kwargs: Any
) -> Any:
    attrs = {} if attrs is None else attrs
    emulator.current_part(FunctionCores).see(graphs.text_of(name), graph, attrs)
    return make(name, graph, attrs, *args, **kwargs)


def _of_call(core: Core, device: str, arguments: Sequence[str | None]) -> str | None:
    """Return the name of `core` in a call on `device` with arguments on the cores `arguments`."""
    if isinstance(core, int):
        return arguments[core]
    return device if core == _CALLERS else core


def _cores_in(graph: Any) -> dict[str, str]:
    if not hasattr(graph, _CORES):
        setattr(graph, _CORES, {})
    return cast(dict[str, str], getattr(graph, _CORES))
