"""The tokens of the Python functions that a session or a function of TensorFlow calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tpulint.runtime.tensorflow_internals.modules import eager_context

_TOKEN = "token"


def token_of(op: Any) -> str:
    """Return the token of `op`, which calls a Python function."""
    return str(op.get_attr(_TOKEN).decode())


def tokens_in_session(session: Any, names: Sequence[str] | None = None) -> frozenset[str]:
    """Return the tokens in the operations `names` of the graph of `session`, and before them.

    Without `names` those of the whole graph.
    """
    graph = session.graph.as_graph_def()
    nodes = {node.name: node for node in graph.node}
    functions = {function.signature.name: function.node_def for function in graph.library.function}
    needed = nodes.values() if names is None else _needed(nodes, names)
    return _tokens(needed, lambda name: functions.get(name, ()))


def tokens_in_function(name: str) -> frozenset[str]:
    """Return the tokens in the function `name`, and in those that it calls."""
    context = eager_context.context()

    def nodes_of(function: str) -> Iterable[Any]:
        has = context.has_function(function)
        return context.get_function_def(function).node_def if has else ()

    return _tokens(nodes_of(name), nodes_of)


def _tokens(nodes: Iterable[Any], nodes_of: Callable[[str], Iterable[Any]]) -> frozenset[str]:
    tokens: set[str] = set()
    seen: set[str] = set()
    unread = list(nodes)
    while unread:
        node = unread.pop()
        if _TOKEN in node.attr:
            tokens.add(node.attr[_TOKEN].s.decode())
        for name in _functions(node):
            if name not in seen:
                seen.add(name)
                unread.extend(nodes_of(name))
    return frozenset(tokens)


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
