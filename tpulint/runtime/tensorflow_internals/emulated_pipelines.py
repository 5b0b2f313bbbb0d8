"""Input pipelines that run on a host of an emulated pod."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tpulint.runtime.tensorflow_internals.modules import dataset_ops, device_util
from tpulint.runtime.tensorflow_internals.patching import patched
from tpulint.runtime.tensorflow_internals.pods import on_pod

_PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


@contextlib.contextmanager
def pipelines_of_hosts_seen(see: Callable[[Any, str], None]) -> Iterator[None]:
    """Call `see` with each dataset that is going to run on a host of the pod, and with the host.

    TensorFlow calls the method that is replaced just before it makes an iterator.
    """
    real = dataset_ops.DatasetV2._apply_debug_options

    def _apply_debug_options(self: Any) -> Any:
        host = device_util.current() or self._variant_tensor.device
        if on_pod(host):
            see(self, host)
        return real(self)

    target = "tensorflow.python.data.ops.dataset_ops.DatasetV2._apply_debug_options"
    with patched(target, _apply_debug_options):
        yield


def python_operation(dataset: Any) -> Any:
    """Return an operation of `dataset`, or of what it is made of, that calls Python, or None."""
    datasets, graphs = [dataset], []
    while datasets:
        each = datasets.pop()
        datasets += each._inputs()
        graphs += [function.function.graph for function in each._functions()]
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
        graphs += [each for each in inner if each is not None]
    return None
