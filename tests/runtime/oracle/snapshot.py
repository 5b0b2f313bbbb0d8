"""Describe a graph in a form in which two builds of one program can be compared."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import text_format

from tpulint.runtime import results
from tpulint.runtime.tensorflow_internals.graphs import function_graph

RUNTIMES_OWN = "tpulint/"


@dataclass(frozen=True)
class Snapshot:
    """Every node as text, by name: of the graph, and of the functions that it calls."""

    nodes: dict[str, str]


# Numbers that TensorFlow counts up in the process.
_COUNTED = re.compile(
    r"__(?:inference|forward|backward)_\w+?_\d+(?:_\d+)?\b|pyfunc_\d+|PartitionedCall-\d+|CustomGradient-\d+|cd2c89b7[-\w]*"
    r"|_\d+(?=___redundant)"
    # A serialized map, in no order.
    r'|key: "config_proto" value \{ s: "(?:[^"\\]|\\.)*" \}'
)


def snapshot(graph: Any) -> Snapshot:
    """Return what was built in `graph` and, for our API, in the marked graphs that belong to it."""
    twins = results.counterparts_in(graph)
    scratch = {id(twin.graph): twin.graph for twin in twins.values()}
    scratch.pop(id(graph), None)
    reader = _Reader(twins)
    nodes = reader.nodes(graph, {})
    for marked in scratch.values():
        nodes |= reader.nodes(marked, marked.counterparts)
    return Snapshot(nodes | reader.of_functions)


@dataclass
class _Reader:
    """A reader of graphs; `twins` names the twins of marked tensors and operations.

    A function is named by its content, since its own name has a number that a process counts up.
    """

    twins: dict[str, Any]
    of_functions: dict[str, str] = field(default_factory=dict)
    _labels: dict[str, str] = field(default_factory=dict)

    def nodes(self, graph: Any, counterparts: dict[str, Any]) -> dict[str, str]:
        return {
            _COUNTED.sub("#", op.name): self._text(op)
            for op in graph.get_operations()
            if not op.name.startswith(RUNTIMES_OWN) and op.name not in counterparts
        }

    def _text(self, op: Any) -> str:
        node = op.node_def
        del node.input[:]
        if "_class" in node.attr:
            places = node.attr["_class"].list.s
            places[:] = [self._place(place.decode()).encode() for place in places]
        for attr in node.attr.values():
            for function in (attr.func, *attr.list.func):
                if function.name:
                    function.name = self._label(op.graph, function.name)
        if type(op).__name__ == "_OperationWithOutputs":
            # A loop whose gradient was taken: 2.12 makes it without what `inputs` needs.
            op._inputs_val = None
        inputs = [self._name(tensor) for tensor in _outer(op.inputs)]
        controls = sorted(self._name(control) for control in op.control_inputs)
        text = text_format.MessageToString(node, as_one_line=True)
        return _COUNTED.sub("#", f"{text} inputs {inputs} controls {controls}")

    def _name(self, used: Any) -> str:
        return str(self.twins.get(used.name, used).name)

    def _place(self, place: str) -> str:
        """Return a colocation: "loc:@" and the operation's name."""
        twin = self.twins.get(place.removeprefix("loc:@") + ":0")
        return place if twin is None else f"loc:@{twin.op.name}"

    def _label(self, graph: Any, name: str) -> str:
        if name not in self._labels:
            body = function_graph(graph, name)
            nodes = _Reader({}, self.of_functions, self._labels).nodes(body, {})
            outputs = [tensor.name for tensor in body.outputs]
            waits = sorted(op.name for op in body.control_outputs)
            text = f"{nodes} {outputs} {waits}"
            label = f"function {hashlib.sha256(text.encode()).hexdigest()[:8]}"
            self._labels[name] = label
            self.of_functions |= {f"{label}/{key}": node for key, node in nodes.items()}
            self.of_functions[label] = text
        return self._labels[name]


def _outer(tensors: Any) -> list[Any]:
    """Return the tensors, each placeholder of a capture replaced by the captured tensor."""
    actual = []
    for tensor in tensors:
        captured = {inner.name: outer for outer, inner in getattr(tensor.graph, "captures", ())}
        is_ours = hasattr(tensor.graph, "counterparts")
        actual.append(captured.get(tensor.name, tensor) if is_ours else tensor)
    return actual
