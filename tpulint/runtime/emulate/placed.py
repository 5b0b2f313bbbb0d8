"""The emulated cores of the results of computations, through the functions that hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.emulate.cores import core_of
from tpulint.runtime.pods import devices
from tpulint.runtime.tensorflow_internals import functions, graphs

_CORES = "_tpulint_cores"
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
        device = devices.core_name(replica)
        if device_assignment is not None:
            device = device_assignment.tpu_device(replica=replica, job=devices.job_of_cores())
        for tensor in tf.nest.flatten(result, expand_composites=True):
            if isinstance(tensor, tf.Tensor) and not graphs.is_eager_tensor(tensor):
                _cores_in(tensor.graph)[tensor.name] = graphs.canonical_device(device)


def note_computation() -> None:
    """Note that the graph that is being built, and those around it, hold a TPU computation."""
    for graph in graphs.graphs_outwards(graphs.default_graph()):
        _cores_in(graph)


class Functions(dict[str, Callable[[str, Sequence[Any]], Sequence[str | None]]]):
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
        if hasattr(graph, _CORES) or not self._holding.isdisjoint(functions.functions_in(graph)):
            self._holding.add(name)
            functions.forget_jit_compile(attrs)
        default = _CALLERS if functions.ON_OP_DEVICE in attrs else None
        cores = [self._core(tensor) for tensor in graph.outputs]
        self._cores[name] = cores = [default if core is None else core for core in cores]
        if any(core is not None for core in cores):
            self[name] = lambda device, arguments: [
                _of_call(core, device, [core_of(one) for one in arguments]) for core in cores
            ]

    def _core(self, tensor: Any, component: int | None = None) -> Core:
        """Return the core of `tensor`, of a graph, or of `component` of it, an optional."""
        known = getattr(tensor.graph, _CORES, {})
        while tensor.name not in known and tensor.op.type == "Identity":
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
                graph.outputs[tensor.value_index] for graph in functions.function_graphs(op)
            ]
            cores = [self._with(self._core(one, component), op.inputs[1:]) for one in branches]
            return next((core for core in cores if core is not None), core_of(op))
        if op.type == "OptionalFromValue" and component is not None:
            return self._core(op.inputs[component])
        if op.type in _ITERATE:
            return self._core(op.inputs[0], tensor.value_index)
        if op.type == "Placeholder" and tensor.dtype in _HANDLES:
            given = [one.name for one in tensor.graph.inputs]
            return given.index(tensor.name) if tensor.name in given else None
        found: str | None = known.get(tensor.name)
        if found is None and devices.is_emulated(tensor.op.device):
            return graphs.canonical_device(tensor.op.device)  # type: ignore[no-any-return]
        return found

    def _with(self, core: Core, arguments: Sequence[Any]) -> Core:
        """Return `core` of a function's output where it is called with `arguments`."""
        return self._core(arguments[core]) if isinstance(core, int) else core


def _of_call(core: Core, device: str, arguments: Sequence[str | None]) -> str | None:
    """Return the name of `core` in a call on `device` with arguments on the cores `arguments`."""
    if isinstance(core, int):
        return arguments[core]
    return device if core == _CALLERS else core


def _cores_in(graph: Any) -> dict[str, str]:
    if not hasattr(graph, _CORES):
        setattr(graph, _CORES, {})
    cores: dict[str, str] = getattr(graph, _CORES)
    return cores
