"""Graphs: the one that is being built, those it is nested in, and what they capture."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.modules import (
    AutomaticControlDependencies,
    func_graph,
    handle_data_util,
    ops,
)
from tpulint.runtime.tensorflow_internals.modules import random_seed as random_seed

Graph = Any
Tensor = Any

# 2.12 has it in `ops`.
_handle_data = getattr(handle_data_util, "get_handle_data", None) or ops.get_handle_data

FuncGraph = func_graph.FuncGraph
EagerTensor = ops.EagerTensor
_Result = TypeVar("_Result")


def default_graph() -> Graph:
    """Return the graph to which operations are added now."""
    return ops.get_default_graph()


def graphs_outwards(graph: Graph | None) -> Iterator[Graph]:
    """Yield `graph` and the graphs that it is nested in, innermost first."""
    while graph is not None:
        yield graph
        graph = getattr(graph, "outer_graph", None)


def once_a_graph(function: Callable[[Graph], _Result]) -> Callable[[Graph], _Result]:
    """Make `function` keep its result in the graph that it gets: it goes when the graph goes."""

    @functools.wraps(function)
    def result(graph: Graph) -> _Result:
        if not hasattr(graph, "_tpulint_kept"):
            graph._tpulint_kept = {}
        kept: dict[object, _Result] = graph._tpulint_kept
        if function not in kept:
            kept[function] = function(graph)
        return kept[function]

    return result


def plain_function_graph(name: str) -> Graph:
    """Return an empty FuncGraph, outside all others, without automatic control dependencies."""
    with tf.Graph().as_default():
        graph = FuncGraph(name)
    graph._add_control_dependencies = False
    return graph


def add_automatic_dependencies(graph: Graph) -> None:
    """Add the control inputs that TensorFlow adds to the operations of a tf.function at its end.

    None are added where the FuncGraph `graph` is traced without them (`wrap_function`).
    """
    if not graph._add_control_dependencies:
        return
    with graph.as_default():
        dependencies = AutomaticControlDependencies()
        dependencies._graph = graph
        dependencies._n_operations = 0
        dependencies.__exit__(None, None, None)


def captured_by(placeholder: Tensor) -> Tensor | None:
    """Return the tensor of a graph around that `placeholder`, of a function, has captured, if any.

    None also for a tensor that is eager, and in no graph.
    """
    for outer, inner in getattr(placeholder.graph, "captures", ()):
        if inner is placeholder and not is_eager_tensor(outer):
            return outer
    return None


def captured_here(tensor: Tensor) -> Tensor:
    """Return `tensor`, captured if the current graph is nested in its own."""
    graph = ops.get_default_graph()
    return tensor if tensor.graph is graph else graph.capture(tensor)


def copy_handle_data(source: Tensor, target: Tensor) -> None:
    """Copy to `target`, if it is a handle, the data of the resource of `source`."""
    handle_data_util.copy_handle_data(source, target)


def variable_dtype(handle: Tensor) -> tf.DType | None:
    """Return the dtype of the variable that `handle` is of; None if it is no variable's.

    The handles of tables, queues and iterators are resources, too, and have no data.
    """
    data = _handle_data(handle)
    if data is None or not data.is_set or not data.shape_and_type:
        return None
    return tf.as_dtype(data.shape_and_type[0].dtype)


def watched_variables(graph: Graph) -> list[Any]:
    """Return the live variables that were touched while the FuncGraph `graph` was traced."""
    return list(getattr(graph, "_watched_variables", ()))


def is_symbolic_tensor(value: Any) -> bool:
    """Return whether `value` is a tensor of a graph."""
    return isinstance(value, tf.Tensor) and not isinstance(value, ops.EagerTensor)


def is_eager_tensor(value: Any) -> bool:
    """Return whether `value` is a tensor that has a value now."""
    return isinstance(value, ops.EagerTensor)
