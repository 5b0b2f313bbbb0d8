"""The functions that graphs call and hold, and how TensorFlow makes them out of graphs."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.graphs import graphs_outwards
from tpulint.runtime.tensorflow_internals.modules import eager_context, function_def_to_graph, ops

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
        # The function may call others, which only the graph around it has.
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
    # TensorFlow 1 calls a function by an operation whose type is its name.
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


ON_OP_DEVICE = "_OutputsOnOpDevice"
_MUST_COMPILE = "_XlaMustCompile"


def forget_jit_compile(attrs: dict[str, Any]) -> None:
    """Let a function with these attributes run without being compiled as a whole."""
    attrs.pop(_MUST_COMPILE, None)


def function_names(graph: Any) -> Iterable[str]:
    """Return the names of the functions that `graph` has, including those that these call."""
    return map(text_of, graph._functions)


def text_of(name: Any) -> str:
    """Return the name of a function, which some releases give as bytes."""
    return name.decode() if isinstance(name, bytes) else str(name)


def wrap_function(traced: Callable[..., Any], dtypes: Sequence[tf.DType]) -> Callable[..., Any]:
    """Return the function that `traced` builds of tensors of `dtypes`, of any shapes.

    `wrap_function` registers each function that `traced` calls with the eager context once more,
    and never takes it out: it would stay there, as would all that was compiled of it. Here it goes
    with the graph of the function.
    """
    built = tf.compat.v1.wrap_function(traced, [tf.TensorSpec(None, dtype) for dtype in dtypes])
    context, names = eager_context.context(), tuple(built.graph._functions)
    # Where the program resets the context, the names may be those of other functions.
    handle = id(context._context_handle)
    weakref.finalize(built.graph, _unregister, context, handle, names).atexit = False
    return built  # type: ignore[no-any-return]


def _unregister(context: Any, handle: int, names: Sequence[str]) -> None:
    """Take functions out of `context` once, unless it has been set up anew in between."""
    for name in names:
        if id(context._context_handle) == handle and context.has_function(name):
            context.remove_function(name)


_TOKEN = "token"


def token_of(op: Any) -> str:
    """Return the token of `op`, which calls a Python function."""
    return str(op.get_attr(_TOKEN).decode())


class GraphContents(NamedTuple):
    """What a graph, and the functions that it calls, have in them."""

    tokens: frozenset[str]
    """The tokens of its Python functions."""
    waits_for_others: bool
    """Whether an operation may take its time without computing in this process."""


def contents_of_session(session: Any, names: Sequence[str] | None = None) -> GraphContents:
    """Return what the operations `names` of the graph of `session`, and those before them, have.

    Without `names` what the whole graph has.
    """
    graph = session.graph.as_graph_def()
    nodes = {node.name: node for node in graph.node}
    functions = {function.signature.name: function.node_def for function in graph.library.function}
    needed = nodes.values() if names is None else _needed(nodes, names)
    contents = _contents(needed, lambda name: functions.get(name, ()))
    # A session of another process may wait for anything there.
    return contents._replace(waits_for_others=True) if session._target else contents


def contents_of_function(name: str) -> GraphContents:
    """Return what the function `name` has, and those that it calls."""
    context = eager_context.context()

    def nodes_of(function: str) -> Iterable[Any]:
        has = context.has_function(function)
        return context.get_function_def(function).node_def if has else ()

    contents = _contents(nodes_of(name), nodes_of)
    # Parts of the function may run on other machines.
    return contents._replace(waits_for_others=True) if context._server_def else contents


# They run a pipeline, which may read or sleep, read or write files, or ask other processes.
_WAITS_FOR_OTHERS = re.compile(
    "GetNext|ReduceDataset|SingleElement|File|^Reader|Restore|Save|Remote|Collective|Recv"
)
# On the operations of the emulator's own clock, which wait for nothing but time.
CLOCK = "_tpulint_clock"


def _contents(nodes: Iterable[Any], nodes_of: Callable[[str], Iterable[Any]]) -> GraphContents:
    tokens: set[str] = set()
    waits_for_others = False
    seen: set[str] = set()
    unread = list(nodes)
    while unread:
        node = unread.pop()
        if _TOKEN in node.attr:
            tokens.add(node.attr[_TOKEN].s.decode())
        if CLOCK not in node.attr and _WAITS_FOR_OTHERS.search(node.op):
            waits_for_others = True
        for name in _functions(node):
            if name not in seen:
                seen.add(name)
                unread.extend(nodes_of(name))
    return GraphContents(frozenset(tokens), waits_for_others)


def _functions(node: Any) -> Iterator[str]:
    yield node.op  # the name of a function, in calls of TensorFlow 1
    for attr in node.attr.values():
        yield from (function.name for function in attr.list.func)
        if attr.HasField("func"):
            yield attr.func.name


def _needed(nodes: dict[str, Any], names: Sequence[str]) -> Iterator[Any]:
    """Yield the NodeDefs of `names` and of all that they need."""
    unread, seen = list(names), set(names)
    while unread:
        node = nodes[unread.pop()]
        yield node
        inputs = {name.removeprefix("^").partition(":")[0] for name in node.input} - seen
        seen |= inputs
        unread += inputs
