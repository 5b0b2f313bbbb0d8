"""The functions that graphs call, including those of Python."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable
from typing import Any

from tpulint.runtime.tensorflow_internals.graphs import graphs_outwards
from tpulint.runtime.tensorflow_internals.modules import ops, script_ops

Graph = Any


def function_graph(graph: Graph, name: str) -> Graph:
    """Return the FuncGraph of the function `name` that `graph`, or one around it, calls."""
    for holder in graphs_outwards(graph):
        function = holder._functions.get(name)
        if function is not None:
            return function.graph
    raise KeyError(name)


def function_graphs(op: Any) -> list[Graph]:
    """Return the FuncGraphs of the functions that `op` holds: branches, bodies, callees."""
    names = [
        func.name
        for attr in op.node_def.attr.values()
        for func in (*attr.list.func, *([attr.func] if attr.func.name else []))
    ]
    return [function_graph(op.graph, name) for name in names]


def share_functions(source: Graph, nodes: Iterable[Any]) -> None:
    """Make the functions that the NodeDefs `nodes`, of `source`, call known in this graph."""
    target = ops.get_default_graph()
    for node in nodes:
        for attr in node.attr.values():
            for func in (*attr.list.func, *([attr.func] if attr.func.name else [])):
                _share_function(source, target, func.name)


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
    graph = ops.get_default_graph()
    if not hasattr(graph, "_py_funcs_used_in_graph"):
        graph._py_funcs_used_in_graph = []
    graph._py_funcs_used_in_graph.append(replaced)
    return bytes(script_ops._py_funcs.insert(replaced).encode())
