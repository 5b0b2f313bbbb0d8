"""On which emulated core the results of computations are, through the functions that hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime import tensorflow_internals as tfi

_CORES = "_tpulint_cores"
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})


def name_results(results: Sequence[Any], device_assignment: Any) -> None:
    """Note of each replica's results, if they are of a graph, on which core they are."""
    for replica, result in enumerate(results):
        device = f"/device:TPU:{replica}"
        if device_assignment is not None:
            device = device_assignment.tpu_device(replica=replica)
        for tensor in tf.nest.flatten(result, expand_composites=True):
            if isinstance(tensor, tf.Tensor) and not tfi.is_eager_tensor(tensor):
                _cores_in(tensor.graph)[tensor.name] = tfi.canonical_device(device)
    for graph in tfi.graphs_outwards(tfi.default_graph()):
        _cores_in(graph)  # it holds a computation, be it one without results


class Functions(dict[str, Callable[[str], Sequence[str | None]]]):
    """What is known of functions made under the emulator: the cores of their outputs."""

    def __init__(self) -> None:
        super().__init__()
        self._holding: set[str] = set()

    def see(self, name: str, graph: Any, attrs: dict[str, Any]) -> None:
        """Learn of a function as it is made.

        One that holds a computation is not compiled as a whole, whatever it asks for: a TPU
        compiles the computation only.
        """
        if hasattr(graph, _CORES) or not self._holding.isdisjoint(tfi.functions_in(graph)):
            self._holding.add(name)
            tfi.forget_jit_compile(attrs)
        cores = [self._core(tensor) for tensor in graph.outputs]
        if tfi.ON_OP_DEVICE in attrs:
            self[name] = lambda device: [core or device for core in cores]
        elif any(cores):
            self[name] = lambda device: cores

    def _core(self, tensor: Any) -> str | None:
        """The core that `tensor`, of a graph, comes from."""
        known = getattr(tensor.graph, _CORES, {})
        while tensor.name not in known and tensor.op.type == "Identity":
            tensor = tensor.op.inputs[0]
        if tensor.op.type in _CALLS:
            outputs = self.get(tensor.op.get_attr("f").name)
            return outputs(tensor.op.device)[tensor.value_index] if outputs else None
        found: str | None = known.get(tensor.name)
        return found


def _cores_in(graph: Any) -> dict[str, str]:
    if not hasattr(graph, _CORES):
        setattr(graph, _CORES, {})
    cores: dict[str, str] = getattr(graph, _CORES)
    return cores
