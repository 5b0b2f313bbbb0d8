"""The paths of gradients: TensorFlow's search from the sources, and its tapes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tpulint.runtime.tensorflow_internals.graphs import FuncGraph, graphs_outwards
from tpulint.runtime.tensorflow_internals.modules import backprop_util, gradients_util, record, tape
from tpulint.runtime.tensorflow_internals.patching import patch, set_default

Graph = Any
Operation = Any
Tensor = Any

_WAYS = "_tpulint_ways_of_gradients"


is_recording = record.could_possibly_record
"""Return whether a GradientTape is active in this thread."""
no_recording = record.stop_recording
"""Return a context in which no tape records operations."""


def may_record() -> bool:
    """Return whether a tape that is opened now in this thread records operations."""
    return not record.pywrap_tfe.TFE_Py_TapeSetIsStopped()


@contextmanager
def resume_recording() -> Iterator[None]:
    """Let tapes record in a context in `no_recording`."""
    record.pywrap_tfe.TFE_Py_TapeSetRestartOnThread()
    try:
        yield
    finally:
        record.pywrap_tfe.TFE_Py_TapeSetStopOnThread()


def pass_gradients_through(images: Sequence[Tensor], originals: Sequence[Tensor]) -> None:
    """Let tapes treat each of `images` as its original passed on unchanged."""
    for image, original in zip(images, originals, strict=True):
        record.record_operation(
            "TpulintStandsFor", [image], [original], lambda gradient: [gradient]
        )


def refuse_on_tapes(value: Tensor, symbol: Tensor, refuse: Callable[..., Any]) -> None:
    """Let a tape call `refuse` for a gradient of the eager `value` by its sources.

    `value` is the result for `symbol`, an output of a FuncGraph.
    """
    sources = [
        outer for outer, inner in symbol.graph.captures if symbol.op in _reached_from(inner.op)
    ]
    for variable in symbol.graph.variables:
        if variable.trainable:
            # The call was not recorded, so the tape has not seen its variables.
            tape.variable_accessed(variable)
    if sources:
        record.record_operation("TpulintRefused", [value], sources, refuse)


def redirect_gradient_search(image: Operation, original: Operation) -> None:
    """Let `tf.gradients` treat `image` as depending on the inputs of `original`, and on no others.

    `original` may be in a graph inside that of `image`. The inputs of `image` itself do not count.
    """
    set_default(image.graph, _WAYS, {})[original] = image


def _reached_from(op: Operation) -> set[Operation]:
    reached: set[Operation] = set()
    gradients_util._MarkReachedOps([op], reached, [op.graph])
    return reached


@patch(
    "tensorflow.python.ops.gradients_util._MarkReachedOps",
    why="tf.gradients finds the sources of a result through its marked node",
)
def _mark_reached(
    original: Callable[..., None],
    from_ops: Iterable[Operation],
    reached_ops: set[Operation],
    func_graphs: Sequence[Graph],
) -> None:
    """Search as `original` does, from operation to operation through tensors with gradients."""
    from_ops = list(from_ops)
    graphs = {id(graph): graph for op in from_ops for graph in graphs_outwards(op.graph)}
    graphs |= {id(graph): graph for graph in func_graphs}
    ways = {
        marked: image
        for graph in graphs.values()
        for marked, image in getattr(graph, _WAYS, {}).items()
    }
    # Nothing is marked here, as in most programs: this is TensorFlow's own search.
    if not ways:
        original(from_ops, reached_ops, func_graphs)
        return
    images = frozenset(ways.values())
    inner = {id(marked.graph): marked.graph for marked in ways} | {
        id(graph): graph for graph in func_graphs
    }
    functions = [graph for graph in inner.values() if isinstance(graph, FuncGraph)]
    queue = deque(from_ops)
    while queue:
        op = queue.popleft()
        if op in reached_ops:
            continue
        reached_ops.add(op)
        # From a marked node the search goes on at what the user has in its place.
        if op in ways:
            queue.append(ways[op])
        for output in op.outputs:
            if backprop_util.IsTrainable(output):
                consumers = gradients_util._Consumers(output, functions)
                queue.extend(consumer for consumer in consumers if consumer not in images)
