"""Find the entry points that start programs that turn soft device placement on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tpulint.absint.resolver.import_graph import ImportGraph, importers
from tpulint.frontends.tensorflow.file_facts import ON, PERHAPS, is_test


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
        self._setters = setters
        self._scripts = scripts
        self._importers = importers(graph, files) if setters else {}
        self._led_to = {state: self._leading_to(state) for state in (ON, PERHAPS)}

    def of(self, path: str) -> str | None:
        """Return what holds where the module at `path` is run: ON in every program, or PERHAPS."""
        if not self._setters:
            return None
        states = {self._in_program(each) for each in self._programs(path)}
        return ON if states == {ON} else PERHAPS if states != {None} else None

    def _in_program(self, entry: str) -> str | None:
        """Return what the program that starts at `entry` asks for."""
        return next((state for state in (ON, PERHAPS) if entry in self._led_to[state]), None)

    def _leading_to(self, state: str) -> set[str]:
        """Return the files that import one that asks for `state`, and these.

        Tests ask for themselves.
        """
        asking = [path for path, each in self._setters.items() if each == state]
        found = {each for each in asking if not is_test(each)}
        waiting = list(found)
        while waiting:
            for each in self._importers.get(waiting.pop(), ()):
                if each not in found:
                    found.add(each)
                    waiting.append(each)
        return found.union(asking)

    def _programs(self, path: str) -> list[str]:
        """Return the files that a program which runs the module at `path` starts from, no tests.

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
