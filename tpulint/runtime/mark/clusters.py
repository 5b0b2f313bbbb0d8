"""The host clusters of one TPU computation: the open one, and the name of the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tpulint.runtime.errors import NestedClusterError
from tpulint.runtime.tensorflow_internals import graphs, tpu

_WITHOUT_TENSORS = (
    *(type(None), bool, int, float, str, bytes, np.ndarray, np.generic),
    *(tf.Operation, tf.Variable, graphs.EagerTensor),
)


class HostClusters:
    """A counter of a computation's clusters, which get the devices around the computation.

    `outer_devices` is the stack of device functions that was in force where the computation
    began: an operation of a host cluster has the devices of that place, not those of the
    `tf.device(tpu.core(...))` scopes on the way to the cluster. `returned` has the graph, by
    identity, and the name of each tensor that the clusters' functions returned; None if one
    returned what cannot be looked into.
    """

    def __init__(self) -> None:
        self.open: str | None = None
        self.is_map = False
        self.count = 0
        self.cores: list[str] = []
        self.returned: set[tuple[int, str]] | None = set()
        self.outer_devices: Any = None
        self._devices_inside: Any = None

    def next_name(self) -> str:
        """Return the name of a cluster that is given none: "0", "1", ..."""
        name = str(self.count)
        self.count += 1
        return name

    def enter(self, name: str | None = None, is_map: bool = False) -> None:
        """Open the cluster `name`.

        The core that a device scope names is noted for `host_compute_core`: the cluster's
        transfers go through that core.

        Raises:
            NestedClusterError: another cluster is open.
        """
        if self.open:
            raise NestedClusterError("Cannot nest outside_compilation clusters")
        self.open = name or self.next_name()
        self.is_map = is_map
        graph = graphs.default_graph()
        device = graphs.device_of_graph(graph)
        if device.device_type == "TPU_REPLICATED_CORE" and device.device_index is not None:
            self.cores.append(f"{self.open}:{device.device_index}")
        self._devices_inside = graphs.device_stack(graph)
        graphs.set_device_stack(graph, self.outer_devices)

    def note_returned(self, result: Any) -> None:
        """Remember the tensors that a cluster's function returned."""
        for value in tpu.nest.flatten(result, expand_composites=True):
            if self.returned is None:
                return
            if graphs.is_symbolic_tensor(value):
                self.returned.add((id(value.graph), value.name))
            elif not isinstance(value, _WITHOUT_TENSORS):
                self.returned = None

    def exit(self) -> None:
        """Close the open cluster.

        Raises:
            ValueError: none is open.
        """
        if not self.open:
            raise ValueError("Attempted to exit outside_compilation scope when not in scope")
        self.open = None
        self.is_map = False
        graphs.set_device_stack(graphs.default_graph(), self._devices_inside)
