"""A part of a program: a file, or one function of it with all that it leads to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tpulint.analysis.domain.events import Cluster, Computation, Context
from tpulint.analysis.domain.objects import function_of
from tpulint.analysis.domain.site import Site


@dataclass(frozen=True)
class Definition:
    """A function or class of a file: its dotted name there, and its rows."""

    name: str
    rows: range

    def is_called(self, name: str) -> bool:
        """Return whether `name` means this: `update` and `Meter.update` both do."""
        return self.name == name or self.name.endswith(f".{name}")


def definitions(text: str) -> Iterator[Definition]:
    """Yield the functions and classes of a file, in its order. Raises SyntaxError."""
    unread: list[tuple[ast.AST, str]] = [(ast.parse(text), "")]
    while unread:
        node, outer = unread.pop()
        name = outer
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{outer}.{node.name}" if outer else node.name
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield Definition(name, range(first, (node.end_lineno or node.lineno) + 1))
        children = list(ast.iter_child_nodes(node))
        unread += [(each, name) for each in reversed(children)]


class Part:
    """The rows of some definitions of the file at `path`; of none, everything."""

    def __init__(self, path: str, meant: Iterable[Definition] = ()) -> None:
        self.path = path
        self.meant = tuple(meant)
        self._names = frozenset(each.name.rpartition(".")[2] for each in self.meant)

    def has(self, context: Context, site: Site | None) -> bool:
        """Return whether the part holds that place, or a call on the way to it."""
        if not self.meant:
            return True
        if site is not None and self._holds(site):
            return True
        calls = context.call_chain
        if site is None and calls and calls[-1].name in self._names:
            return True
        return any(self._holds(each.site) for each in calls)

    def has_cluster(self, cluster: Cluster) -> bool:
        """Return whether it opens the cluster, or is the host function."""
        function = function_of(cluster.callee)
        if self.has(cluster.context, cluster.site):
            return True
        return function is not None and self._holds(Site(function.module, function.code.place))

    def builds(self, computation: Computation) -> bool:
        """Return whether it holds the call that builds the computation, or leads there."""
        return self.has(computation.context, computation.site)

    def _holds(self, site: Site) -> bool:
        if site.module.path != self.path or site.place < 0:
            return False
        row = site.span.start.row
        return any(row in each.rows for each in self.meant)
