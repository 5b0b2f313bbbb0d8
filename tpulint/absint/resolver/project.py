"""The project's modules: which file an import means, read when it is first needed."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Mapping, Sequence

from tpulint.absint.domain.site import Module
from tpulint.absint.resolver.import_graph import PACKAGE, Files, ImportGraph, binds, path_entries
from tpulint.source import Source, UnreadableSource, read_source
from tpulint.syntax.ir import ModuleSummary
from tpulint.syntax.lazy_module import summarize

Facts = Callable[[Source], ModuleSummary | None]


@functools.lru_cache(maxsize=1)
def _by_path(filenames: tuple[str, ...], folder: str) -> dict[str, str]:
    """Return the files by absolute path: all programs of a run are read among the same."""
    return {os.path.normpath(os.path.join(folder, name)): name for name in filenames}


class Project:
    """Maps dotted names to files and files to modules.

    `facts` gives a file's summary; `filenames` are the files of the run, as it names them.
    """

    def __init__(self, facts: Facts, files: Files, filenames: Sequence[str] = ()) -> None:
        self._facts = facts
        self._filenames = filenames
        self.files = files
        self.imports = ImportGraph(files)
        self._modules: dict[str, Module | None] = {}
        self._answers: dict[tuple[str, Callable[[bytes], bool]], bool] = {}
        self._handed_on: dict[tuple[str, str], bool] = {}

    def add(self, filename: str, module: Module | None) -> None:
        self._modules[os.path.abspath(filename)] = module

    def module(self, path: str) -> Module | None:
        """Return the module of the file at `path` (absolute); None where it cannot be read."""
        if path not in self._modules:
            self._modules[path] = self._load(path)
        return self._modules[path]

    def known(self, path: str) -> Module | None:
        """Return the module of the file at `path`, if it was asked for."""
        return self._modules.get(path)

    def _load(self, path: str) -> Module | None:
        if not self.files.is_written(path):
            return Module(os.path.relpath(path), path, "", summarize(""))
        shown = self._shown.get(path) or os.path.relpath(path)
        try:
            source = read_source(shown, self.files.disk.read(path))
        except (OSError, UnreadableSource):
            return None
        facts = self._facts(source)
        if facts is None:
            return None
        self.files.learn_added(path, path_entries(source.text.encode(errors="replace")))
        module = Module(shown, path, source.text, facts)
        module.reported = path in self._shown
        return module

    @functools.cached_property
    def _shown(self) -> dict[str, str]:
        return _by_path(tuple(self._filenames), os.getcwd())

    def hands_on(self, path: str, name: str) -> bool:
        """Return whether the module at `path` has `name` from elsewhere, by an import of it."""
        if (path, name) not in self._handed_on:
            self._handed_on[path, name] = binds(self.files.data(path), name)
        return self._handed_on[path, name]

    def holds(self, path: str, is_in: Callable[[bytes], bool], package: bool | None = None) -> bool:
        """Return `is_in` of the bytes of the module at `path`, computed once for each question.

        package: the answer for an `__init__`, where that is known.
        """
        if package is not None and path.endswith(f"{os.sep}{PACKAGE}"):
            return package
        answer = self._answers.get((path, is_in))
        if answer is None:
            answer = self._answers[path, is_in] = is_in(self.files.data(path))
        return answer


class Callers:
    """The files that import modules of a program, as long as they are not read."""

    def __init__(self, project: Project, filenames: Sequence[str]) -> None:
        self._project = project
        self._unread = [os.path.abspath(name) for name in filenames]

    def naming(self, wanted: Mapping[str, Collection[str]], paths: Collection[str]) -> list[Module]:
        """Take out the modules that name one of `wanted` and import its module, one of `paths`."""
        targets = {
            name: frozenset(of_name).intersection(paths)
            for name, of_name in wanted.items()
            if not name.startswith("__")
        }
        leading = [path for path in self._unread if self._leads(path, targets)]
        self._unread = [path for path in self._unread if path not in leading]
        modules = map(self._project.module, leading)
        return [module for module in modules if module is not None]

    def _leads(self, path: str, targets: Mapping[str, frozenset[str]]) -> bool:
        """Return whether the file names one of the targets and imports its module or a package."""
        data = self._project.files.data(path)
        named = {name: among for name, among in targets.items() if among and name.encode() in data}
        if not named:
            return False
        imported = self._project.imports.imported(path)
        packages = [package for package in imported if os.path.basename(package) == PACKAGE]
        return any(
            not among.isdisjoint(imported)
            or any(self._hands_on(package, name, among) for package in packages)
            for name, among in named.items()
        )

    def _hands_on(self, package: str, name: str, paths: frozenset[str]) -> bool:
        """Return whether a package imports a module that defines `name` outside its classes."""
        imported = paths.intersection(self._project.imports.imported(package))
        for module in map(self._project.module, imported):
            if module is not None:
                names = {cls.name for cls in module.facts.classes}
                outside = (code for code in module.facts.functions if code.class_index is None)
                if name in names.union(code.name for code in outside):
                    return True
        return False
