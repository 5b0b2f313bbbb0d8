"""The functions that graphs call, including those of Python."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.graphs import FuncGraph, graphs_outwards
from tpulint.runtime.tensorflow_internals.modules import (
    eager_context,
    function_def_to_graph,
    gen_script_ops,
    ops,
    script_ops,
)
from tpulint.runtime.tensorflow_internals.processes import on_coordinator

Graph = Any
Tensor = Any
Operation = Any


def function_graph(graph: Graph, name: str) -> Graph:
    """Return the FuncGraph of the function `name` that `graph`, or one around it, calls."""
    for holder in graphs_outwards(graph):
        function = holder._functions.get(name)
        if function is not None:
            return function.graph if hasattr(function, "graph") else _graph_of(function, holder)
    raise KeyError(name)


def is_function(graph: Graph, name: str) -> bool:
    """Return whether `name` is a function of `graph`, or of one around it.

    An operation whose type is a function's name calls it: so do the functions of `Defun`.
    """
    return any(name in holder._functions for holder in graphs_outwards(graph))


def _graph_of(function: Any, holder: Graph) -> Graph:
    """Return a FuncGraph of `function`, which `Defun` made: it keeps its definition only.

    The graph is kept with the function, as what is derived of a graph is kept with the graph.
    """
    if not hasattr(function, "_tpulint_graph"):
        with holder.as_default():
            function._tpulint_graph = function_def_to_graph.function_def_to_graph(
                function.definition
            )
    return function._tpulint_graph


def function_graphs(op: Any) -> list[Graph]:
    """Return the FuncGraphs of the functions that `op` holds: branches, bodies, callees."""
    return list(functions_by_name(op).values())


def functions_by_name(op: Any) -> dict[str, Graph]:
    """Return the FuncGraphs of the functions that `op` holds, by name."""
    names = _function_names(op.graph, op.node_def)
    return {name: function_graph(op.graph, name) for name in names}


def share_functions(source: Graph, nodes: Iterable[Any]) -> None:
    """Make the functions that the NodeDefs `nodes`, of `source`, call known in this graph."""
    target = ops.get_default_graph()
    for node in nodes:
        for name in _function_names(source, node):
            _share_function(source, target, name)


def _function_names(graph: Graph, node: Any) -> list[str]:
    """Return the functions of `graph` that the NodeDef `node` calls or holds."""
    names = [
        func.name
        for attr in node.attr.values()
        for func in (*attr.list.func, *([attr.func] if attr.func.name else []))
    ]
    return [node.op, *names] if is_function(graph, node.op) else names


def _share_function(source: Graph, target: Graph, name: str) -> None:
    if target._is_function(name):
        return
    for holder in graphs_outwards(source):
        function = holder._functions.get(name)
        if function is not None:
            if hasattr(target, "_add_function_recursive"):
                target._add_function_recursive(function)
            else:  # 2.12
                function.add_to_graph(target)
            return
    raise KeyError(name)


@on_coordinator()
def python_function(
    function: Callable[..., Any], given: Sequence[Tensor], dtypes: Sequence[Any]
) -> list[Tensor]:
    """Return tensors of `dtypes` that `function` computes; it lives as long as this graph.

    It is called in this process, on whatever host the operations around it are.

    `tf.numpy_function` ties it to the outermost graph, which for a tf.function never goes.
    """
    made: list[Tensor] = tf.numpy_function(function, list(given), list(dtypes), stateful=True)
    *_, outermost = graphs_outwards(ops.get_default_graph())
    _keep(outermost._py_funcs_used_in_graph.pop())
    return made


class OwnFunction:
    """A Python function of tpulint's own that graphs call for what it does: it waits for nothing.

    So it needs none of what TensorFlow does for the user's: its results are not converted (of one
    bool that takes longer than most of these functions), and AutoGraph is not asked.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *values: Any) -> list[Any]:
        self._function(*values)
        return []


@on_coordinator()
def own_operation(function: Callable[..., Any], given: Sequence[Tensor]) -> Operation:
    """Return an operation, of no results, that calls an `OwnFunction` in this process."""
    own = OwnFunction(function)
    _keep(own)
    token = script_ops._py_funcs.insert(own)
    return gen_script_ops.py_func(input=list(given), token=token, Tout=[])


def _keep(function: Any) -> None:
    """Let `function`, of Python, live as long as this graph.

    With asynchronous execution that may be gone when it runs, so the outermost has to keep it.
    """
    here, *around = graphs_outwards(ops.get_default_graph())
    is_async = eager_context.context().is_async()
    graph = here if isinstance(here, FuncGraph) and not is_async else [here, *around][-1]
    if not hasattr(graph, "_py_funcs_used_in_graph"):
        graph._py_funcs_used_in_graph = []
    graph._py_funcs_used_in_graph.append(function)


class _EagerAround(script_ops.EagerFunc):  # type: ignore[misc]
    """An EagerFunc whose call, with the tape of its gradient, is within another function's."""

    _called: Callable[..., Any]

    def __call__(self, device: Any, token: Any, args: Any) -> Any:
        return self._called(device, *args)


def _called(function: Any, token: bytes, device: Any, *args: Any) -> Any:
    """Call `function`, keeping its tape under `token`, where the gradient looks for it."""
    return function(device, token, args)


def around_python_function(
    token: bytes, around: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> bytes | None:
    """Return the token of a Python function of the graph that runs `around(function of token)`.

    None where the function no longer lives.
    """
    registered = script_ops._py_funcs.get(token.decode())
    if registered is None:
        return None
    if isinstance(registered, script_ops.EagerFunc):
        replaced = copy.copy(registered)
        replaced.__class__ = _EagerAround
        replaced._called = around(functools.partial(_called, registered, token))
    else:
        replaced = around(registered)
    _keep(replaced)
    return bytes(script_ops._py_funcs.insert(replaced).encode())
