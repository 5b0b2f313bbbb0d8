"""The graphs that sessions on hosts of a pod run: the parts that they need of a program's graph.

A session on a server places the whole graph that it is given, and refuses one with marked nodes, as
some have no kernel. So it is given another graph, which has what the session runs and grows with
that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.modules import c_api, c_api_util


class SessionGraph:
    """A growing copy of the nodes of `source` that a session runs, each changed by `place`."""

    def __init__(self, source: Any, place: Callable[[Any], None]) -> None:
        self.graph = tf.Graph()
        self._source = source
        self._place = place
        self._operations: dict[str, Any] = {}
        self._functions: set[str] = set()
        self._read: tuple[int, Any, dict[str, Any]] = (-1, None, {})
        self._lock = threading.Lock()

    def grow(self, names: Iterable[str]) -> None:
        """Add the operations `names` and all that they need, if they are not here.

        Raises:
            KeyError: the program's graph has none of that name.
        """
        with self._lock:
            missing = [name for name in names if name not in self._operations]
            if missing:
                self._add(self._needed(missing))

    def _needed(self, names: list[str]) -> list[Any]:
        """Return the NodeDefs of `names` and of those before them that are not here yet."""
        nodes = self._nodes()
        found: dict[str, Any] = {}
        while names:
            name = names.pop()
            if name not in found and name not in self._operations:
                found[name] = nodes[name]
                names.extend(_node(given) for given in nodes[name].input)
        return list(found.values())

    def _nodes(self) -> dict[str, Any]:
        """Return the NodeDefs of the program's graph as it is now, by name."""
        version, _, nodes = self._read
        if version != self._source.version:
            graph_def = self._source.as_graph_def()
            nodes = {node.name: node for node in graph_def.node}
            self._read = (self._source.version, graph_def, nodes)
        return nodes

    def _add(self, nodes: list[Any]) -> None:
        part = tf.compat.v1.GraphDef(versions=self._read[1].versions)
        new = {node.name for node in nodes}
        options = c_api_util.ScopedTFImportGraphDefOptions()
        # Groups are known by their names: what they are named after need not be here.
        c_api.TF_ImportGraphDefOptionsSetValidateColocationConstraints(options.options, False)
        for each in nodes:
            node = part.node.add()
            node.CopyFrom(each)
            self._place(node)
            c_api.TF_ImportGraphDefOptionsAddReturnOperation(options.options, node.name)
            for given in node.input:
                if _node(given) not in new:
                    self._map(options.options, given)
        self._add_functions(part.library)
        made = _imported(self.graph, part, options.options)
        self._operations.update(zip((node.name for node in nodes), made, strict=True))

    def _map(self, options: Any, given: str) -> None:
        """Let an input of the nodes that are added be an output that is here."""
        here = self._operations[_node(given)]
        if given.startswith("^"):
            c_api.TF_ImportGraphDefOptionsRemapControlDependency(options, given[1:], here)
        else:
            name, _, index = given.partition(":")
            place = int(index or 0)
            output = c_api_util.tf_output(here, place)
            c_api.TF_ImportGraphDefOptionsAddInputMapping(options, name, place, output)

    def _add_functions(self, library: Any) -> None:
        """Add to `library` the functions of the program's graph that are not here."""
        theirs = self._read[1].library
        for function in theirs.function:
            if function.signature.name not in self._functions:
                library.function.add().CopyFrom(function)
        added = {function.signature.name for function in library.function}
        library.gradient.extend(one for one in theirs.gradient if one.function_name in added)
        self._functions |= added


def name_of(operation: Any) -> str:
    """Return the name of a TF_Operation."""
    name: str = c_api.TF_OperationName(operation)
    return name


def _imported(graph: Any, part: Any, options: Any) -> list[Any]:
    """Import the GraphDef `part` into `graph`, and return the TF_Operations for which it asks."""
    given = c_api.TF_NewBufferFromString(part.SerializeToString())
    try:
        with graph._c_graph.get() as c_graph:
            results = c_api.TF_GraphImportGraphDefWithResults(c_graph, given, options)
    finally:
        c_api.TF_DeleteBuffer(given)
    held = c_api_util.ScopedTFImportGraphDefResults(results)
    return list(c_api.TF_ImportGraphDefResultsReturnOperations(held.results))


def _node(given: str) -> str:
    """Return the name of the node that the input `given` of a NodeDef is of."""
    return given.removeprefix("^").partition(":")[0]
