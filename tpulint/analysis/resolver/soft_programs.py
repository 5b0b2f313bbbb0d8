"""Find the entry points that start programs that turn soft device placement on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tpulint.analysis.names.files_of_tests import is_test
from tpulint.analysis.resolver.import_graph import ImportGraph
from tpulint.analysis.soft_placement import ON, PERHAPS


class SoftPlacement:
    """Soft placement by entry point, all files by absolute path.

    `setters` ask for it; `scripts` are run as programs.
    """

    def __init__(
        self,
        graph: ImportGraph,
        files: Sequence[str],
        setters: Mapping[str, str],
        scripts: Collection[str],
    ) -> None:
        self._graph = graph
        self._setters = setters
        self._scripts = scripts
        self._asked: dict[str, str | None] = {}
        self._importers: dict[str, list[str]] = {}
        for each in files if setters else ():
            for imported in graph.imported(each):
                self._importers.setdefault(imported, []).append(each)

    def of(self, path: str) -> str | None:
        """Return what holds where the module at `path` is run: ON in every program, or PERHAPS."""
        if not self._setters:
            return None
        states = {self._in_program(each) for each in self._programs(path)}
        return ON if states == {ON} else PERHAPS if states != {None} else None

    def _in_program(self, entry: str) -> str | None:
        """Return what the program that starts at `entry` asks for; tests that it imports do not."""
        if entry in self._asked:
            return self._asked[entry]
        states = {
            state
            for path in self._graph.reached(entry)
            if (state := self._setters.get(path)) and (path == entry or not is_test(path))
        }
        found = ON if ON in states else PERHAPS if states else None
        return self._asked.setdefault(entry, found)

    def _programs(self, path: str) -> list[str]:
        """The files that a program which runs the module at `path` starts from, tests left out.

        Where nothing but tests leads there, it is a program of its own.
        """
        seen = {path}
        waiting = [path]
        found = []
        while waiting:
            each = waiting.pop()
            above = self._importers.get(each, [])
            if not above or each in self._scripts:
                found.append(each)
            for other in above:
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        if is_test(path):
            return found or [path]
        return [each for each in found if not is_test(each)] or [path]
