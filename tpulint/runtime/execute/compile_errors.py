"""The runtime's own errors for device segments that XLA refuses to compile.

Operations with no kernel are found earlier (see extract/kernels.py). Only XLA, when the step runs,
finds a shape that is not a compile-time constant, or attributes that a kernel refuses.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from tpulint.runtime.errors import RuntimeFault, UnsupportedOpError
from tpulint.runtime.execute.raising import delivered
from tpulint.runtime.extract.region import Graph, Operation
from tpulint.runtime.source_location import place_of_operation
from tpulint.runtime.tensorflow_internals import functions

_SEGMENT = re.compile(r"tpu_device_segment_\d+")
_NODE = re.compile(r"\[\[(?:\{\{function_node ([^}]+)\}\})?(?:\{\{node )?([^}\]]+)")
_CONVERTED = re.compile(r"while converting ([^\[\s]+)\[")
_BEFORE_WORDS = re.compile(
    r"Graph execution error:\s+|Detected at node .*?(?:<stack traces unavailable>|Node: '[^']*')\n"
    r"|\{\{function_node [^}]*\}\} ?",
    re.DOTALL,
)
_AFTER_WORDS = re.compile(r"\s+(?:Stack trace for op definition:|\[\[)")
_REFUSALS = {
    "must be a compile-time constant": "TPU502",
    "Detected unsupported operations": "TPU501",
}
_graphs: WeakValueDictionary[str, Any] = WeakValueDictionary()


class _Node(NamedTuple):
    """A node that a message names; in the function of that name, if it says so."""

    function: str
    name: str


def remember_segment(function: Any, operations: Mapping[str, Operation]) -> None:
    """Note that `function`, as long as it lives, is a segment.

    `operations` has the computation's operations by the names of their images in the function.
    """
    function.graph.tpulint_operations = operations
    _graphs[segment_name(function)] = function.graph


def segment_name(function: Any) -> str:
    """Return the name by which a message of XLA shows the segment `function`."""
    name = function.name.decode() if isinstance(function.name, bytes) else function.name
    shown = _SEGMENT.search(name)
    assert shown is not None, name
    return shown[0]


def refused(message: str) -> RuntimeFault | None:
    """Return the fault of a segment that an InvalidArgumentError's `message` reports, or None."""
    graph = next((_graphs[name] for name in _SEGMENT.findall(message) if name in _graphs), None)
    if graph is None:
        return None
    operation = _operation(graph, message)
    if operation is None:
        return None
    words = _words(message)
    if f"`{operation.name}`" not in words:
        words = f"{operation.type} `{operation.name}`: {words}"
    rule = next((rule for text, rule in _REFUSALS.items() if text in message), "")
    return delivered(UnsupportedOpError(words, place=place_of_operation(operation), rule=rule))


def _words(message: str) -> str:
    """Return what XLA says in `message`, without the nodes and the traces around it."""
    text = message
    while before := _BEFORE_WORDS.match(text):
        text = text[before.end() :]
    return _AFTER_WORDS.split(text, maxsplit=1)[0].strip()


def _operation(graph: Graph, message: str) -> Operation | None:
    """Return the user's operation that `message` names, or the innermost around it that is sure.

    The message names the operation first, then those whose bodies it is in, then the segment.
    """
    nodes = [_Node(*match) for match in _NODE.findall(message)]
    inside = itertools.takewhile(lambda node: not _SEGMENT.search(node.name), nodes)
    converted = _CONVERTED.findall(message)
    operation = None
    for node in reversed(list(inside)):
        candidates = list(_candidates(graph, operation, node, converted))
        if len({place_of_operation(candidate) for candidate in candidates}) != 1:
            break
        operation = candidates[0]
    return operation


def _candidates(
    graph: Graph, around: Operation | None, node: _Node, converted: Sequence[str]
) -> Iterator[Operation]:
    """Yield the operations that `node`, in a body of `around` if any, may be."""
    with contextlib.suppress(KeyError):
        if node.function:
            body = functions.function_graph(graph, node.function)
            yield body.get_operation_by_name(node.name)
            return
        if around is None:
            yield graph.tpulint_operations[node.name]
            return
    bodies = functions.functions_by_name(around) if around is not None else {}
    named = [name for name in bodies if any(each.startswith(name) for each in converted)]
    for name in named or bodies:
        with contextlib.suppress(KeyError):
            yield bodies[name].get_operation_by_name(node.name)
