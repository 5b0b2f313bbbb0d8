"""The project's modules: which file an import means, read when it is first needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from tpulint.analysis.domain.site import Module
from tpulint.source import UnreadableSource, read_source
from tpulint.syntax import ir
from tpulint.syntax.prefilter import applies_gradients, makes_keras_objects, may_matter

# Packages that are TensorFlow's world even where a folder of that name is in the project.
OUTSIDE = frozenset(
    ["tensorflow", "keras", "tf_keras", "numpy", "sonnet", "absl", "six", "tpulint"]
)
PACKAGE = "__init__.py"
MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")
HINTS = ("requirements.txt", "README.md", "README.rst", "tests", "scripts", "LICENSE")
CLIMB = 8  # folders above a file in which its imports may start

Facts = Callable[[str, bytes, str], "ir.ModuleFacts | None"]


class Project:
    """Maps dotted names to files and files to modules.

    `facts` gives a file's summary; `filenames` are the files of the run, as it names them.
    """

    def __init__(
        self, facts: Facts, given: Mapping[str, bytes], filenames: Sequence[str] = ()
    ) -> None:
        self._facts = facts
        self._filenames = filenames
        self._shown: dict[str, str] | None = None
        self._given = {os.path.abspath(name): data for name, data in given.items()}
        self._modules: dict[str, Module | None] = {}
        self._roots: dict[str, tuple[str, ...]] = {}
        self._listings: dict[str, frozenset[str]] = {}
        self._answers: dict[tuple[str, Callable[[bytes], bool]], bool] = {}

    def add(self, filename: str, module: Module | None) -> None:
        self._modules[os.path.abspath(filename)] = module

    def module(self, path: str) -> Module | None:
        """The module of the file at `path` (absolute); None where it cannot be read."""
        if path not in self._modules:
            self._modules[path] = self._load(path)
        return self._modules[path]

    def _load(self, path: str) -> Module | None:
        if self._shown is None:
            self._shown = {os.path.abspath(name): name for name in self._filenames}
        shown = self._shown.get(path) or os.path.relpath(path)
        try:
            source = read_source(shown, self._given.get(path))
        except UnreadableSource:
            return None
        facts = self._facts(shown, source.data, source.text)
        if facts is None:
            return None
        module = Module(shown, path, source.text, facts)
        module.reported = path in self._shown
        return module

    def locate(self, module: Module, dotted: str, level: int) -> str | None:
        """The file that `import dotted` in `module` means; None where it is outside the project."""
        parts = dotted.split(".") if dotted else []
        if level:
            folder = os.path.dirname(module.path)
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._find(folder, parts)
        if not parts or parts[0] in OUTSIDE:
            return None
        for root in self._roots_of(module.path):
            found = self._find(root, parts)
            if found is not None:
                return found
        return None

    def child(self, path: str, name: str) -> str | None:
        """The file of the module `name` inside the package whose `__init__` is at `path`."""
        if os.path.basename(path) != PACKAGE:
            return None
        return self._find(os.path.dirname(path), [name])

    def matters(self, path: str) -> bool:
        """Return whether the module at `path` can change the findings (see `prefilter`)."""
        return os.path.basename(path) == PACKAGE or self._shows(path, may_matter)

    def applies_gradients(self, path: str) -> bool:
        """Return whether the module at `path` updates variables with an optimizer (see
        `prefilter`).
        """
        return self._shows(path, applies_gradients)

    def makes_keras_objects(self, path: str) -> bool:
        """Return whether the module at `path` makes objects that belong under a scope."""
        return self._shows(path, makes_keras_objects)

    def _shows(self, path: str, asked: Callable[[bytes], bool]) -> bool:
        """What the bytes of the module at `path` answer, looked at once for each question."""
        known = self._answers.get((path, asked))
        if known is None:
            known = self._answers[path, asked] = asked(self._bytes(path))
        return known

    def _bytes(self, path: str) -> bytes:
        if path in self._given:
            return self._given[path]
        try:
            with open(path, "rb") as stream:
                return stream.read()
        except OSError:
            return b""

    def _find(self, folder: str, parts: list[str]) -> str | None:
        for part in parts[:-1]:
            if part not in self._listing(folder):
                return None
            folder = os.path.join(folder, part)
        if not parts:
            return self._package(folder)
        last = parts[-1]
        if f"{last}.py" in self._listing(folder):
            return os.path.join(folder, f"{last}.py")
        if last in self._listing(folder):
            return self._package(os.path.join(folder, last))
        return None

    def _package(self, folder: str) -> str | None:
        """A package is its `__init__`; one without is an empty module of that folder."""
        path = os.path.join(folder, PACKAGE)
        if PACKAGE in self._listing(folder):
            return path
        if not self._listing(folder):
            return None
        if path not in self._modules:
            empty = ir.ModuleFacts([], [], [], [], [0] * ir.KINDS)
            self._modules[path] = Module(os.path.relpath(path), path, "", empty)
        return path

    def _listing(self, folder: str) -> frozenset[str]:
        """What is in a folder, files that were given by text included."""
        found = self._listings.get(folder)
        if found is None:
            try:
                names = set(os.listdir(folder))
            except OSError:
                names = set()
            for path in self._given:
                if path.startswith(folder + os.sep):
                    names.add(path[len(folder) + 1 :].split(os.sep)[0])
            found = frozenset(names)
            self._listings[folder] = found
        return found

    def _roots_of(self, path: str) -> tuple[str, ...]:
        """The folders in which an absolute import can start, the likeliest first."""
        folder = os.path.dirname(path)
        known = self._roots.get(folder)
        if known is not None:
            return known
        start = folder
        while PACKAGE in self._listing(start) and os.path.dirname(start) != start:
            start = os.path.dirname(start)
        roots = [start]
        sources = []
        climbed = start
        for _ in range(CLIMB):
            listing = self._listing(climbed)
            is_project = any(mark in listing for mark in MARKS)
            if "src" in listing and (is_project or any(hint in listing for hint in HINTS)):
                sources.append(os.path.join(climbed, "src"))
            if is_project:
                break
            parent = os.path.dirname(climbed)
            if parent == climbed:
                roots = [start]  # no project's mark above: do not search the whole disk
                break
            climbed = parent
            roots.append(climbed)
        found = tuple(dict.fromkeys([folder, *roots, *sources]))
        self._roots[folder] = found
        return found
