"""What a graph holds, in a form that two builds of one program can be compared in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import text_format

from tpulint.runtime import results

RUNTIMES_OWN = "tpulint/"


@dataclass(frozen=True)
class Snapshot:
    """Every node as text, by name: in the order of making in a plain graph, else sorted."""

    nodes: dict[str, str]


@dataclass
class _Names:
    """Numbers that TensorFlow counts up in the process, renumbered by first appearance."""

    known: dict[str, str] = field(default_factory=dict)

    def plain(self, text: str) -> str:
        return _COUNTED.sub(lambda match: self._renamed(match.group(0)), text)

    def _renamed(self, name: str) -> str:
        stem = re.sub(r"\d+", "", name)
        return self.known.setdefault(name, f"{stem}#{len(self.known)}")


_COUNTED = re.compile(
    r"__(?:inference|forward|backward)_\w+?_\d+(?:_\d+)?|(?<=\")\w+_(?:true|false|body|cond|branch\d*)"
    r"(?:_\w+)?_\d+(?=\")|pyfunc_\d+|(?<=\")\d{1,6}(?=\")|cd2c89b7[-\w]*"
)


def snapshot(graph: Any) -> Snapshot:
    """What was built in `graph` and, for our API, in the marked graphs that belong to it."""
    names = _Names()
    twins = results.twins(graph)
    known = getattr(graph, "_tpulint_marked_results", {})
    scratch = {id(marked.graph): marked.graph for marked, _ in known.values()}
    scratch.pop(id(graph), None)
    nodes = _nodes(graph, names, twins, {})
    for marked in scratch.values():
        nodes |= _nodes(marked, names, twins, marked.stand_ins)
    return Snapshot(nodes)


def _nodes(
    graph: Any, names: _Names, twins: dict[str, Any], stand_ins: dict[str, Any]
) -> dict[str, str]:
    return {
        op.name: _text(op, names, twins)
        for op in graph.get_operations()
        if not op.name.startswith(RUNTIMES_OWN) and op.name not in stand_ins
    }


def _text(op: Any, names: _Names, twins: dict[str, Any]) -> str:
    """The node's definition. What stands for a marked tensor or operation is named as that."""
    node = op.node_def
    del node.input[:]
    inputs = [twins.get(tensor.name, tensor).name for tensor in _outer(op.inputs)]
    controls = [twins.get(control.name, control).name for control in op.control_inputs]
    text = text_format.MessageToString(node, as_one_line=True)
    return names.plain(f"{text} inputs {inputs} controls {controls}")


def _outer(tensors: Any) -> list[Any]:
    """The tensors, a captured one as the one that it stands for."""
    found = []
    for tensor in tensors:
        captured = {inner.name: outer for outer, inner in getattr(tensor.graph, "captures", ())}
        is_ours = hasattr(tensor.graph, "stand_ins")
        found.append(captured.get(tensor.name, tensor) if is_ours else tensor)
    return found
