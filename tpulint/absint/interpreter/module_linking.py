"""Modules on demand: which name of which module an import means."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import chain
from typing import Protocol

from tpulint.absint.domain import values
from tpulint.absint.domain.events import Context
from tpulint.absint.domain.objects import Env
from tpulint.absint.domain.program import ProgramEvents
from tpulint.absint.domain.site import Module
from tpulint.absint.domain.values import External, Imported, ModuleValue, Value, outside
from tpulint.absint.resolver.import_graph import PACKAGE, Files
from tpulint.absint.resolver.project import Project

MAX_REEXPORTS = 16  # re-exports of one name
# The strings in the `__all__` of a package.
_ALL = re.compile(rb"^__all__[ \t]*\+?=[ \t]*[\[(]([^\])]*)", re.MULTILINE)
_STRING = re.compile(rb"[\"'](\w+)[\"']")


class Importer(Protocol):
    """Code that asks for a name of another module: a frame, as far as this file is concerned."""

    context: Context
    module: Module


class ModuleLibrary(Protocol):
    """A library (see `frame.Library`), as far as modules are concerned."""

    def follows(self, project: Project, path: str, asking: Importer | None, /) -> bool: ...
    def holds(self, path: str, name: str, /) -> bool: ...
    def starred(self, path: str, name: str, /) -> External: ...
    def is_generated(self, project: Project, path: str, /) -> bool: ...


class ModuleLinker(ABC):
    """The resolver of names of modules, which are read when they are first asked for.

    follow_all: whatever is imported is read. leading: the modules that lead to entry points, which
    are read wherever they are imported. skipped_module: a module was not read that might
    have mattered to a host cluster.
    """

    def __init__(self, project: Project, library: ModuleLibrary, program: ProgramEvents) -> None:
        self.project = project
        self.library = library
        self.program = program
        self.follow_all = False
        self.leading: set[str] = set()
        self.skipped_module = False
        self.skipped_calls: set[tuple[str, str]] = set()  # what was called of modules passed by
        self._unread: list[str] | None = None  # what imports reached at the first question
        self._registrars: dict[str, list[str]] = {}  # by path, what fills the dicts of the module
        self._asked: dict[str, int] = {}  # by path, how many modules were read when it was asked
        self._envs: dict[Module, Env] = {}
        self.star_imports: dict[Module, list[Value]] = {}

    @abstractmethod
    def read_body(self, module: Module, env: Env) -> None:
        """Read the body of a module; its names are bound in `env`."""

    def module_env(self, module: Module) -> Env:
        """Return the names of `module`, whose body is read at the first question."""
        env = self._envs.get(module)
        if env is None:
            env = self._envs[module] = Env({})
            self.program.modules.append(module)
            self.read_body(module, env)
        return env

    def read_registrars(self, path: str) -> None:
        """Read the modules that may fill a dict which the module at `path` made.

        They are imported for that alone: nothing that is read names anything in them.
        """
        if self._asked.get(path) == len(self._envs):
            return
        imports = self.project.imports
        if self._unread is None:
            self._unread = self._run_unread({module.path for module in self._envs})
        makers = {path}.union(
            module.path for module in self._envs if path in imports.imported(module.path)
        )
        filled = {
            unread: makers.intersection(imports.filled(unread))
            for unread in self._unread
            if not makers.isdisjoint(imports.imported(unread))
        }
        registrars = [unread for unread, of_makers in filled.items() if of_makers]
        if registrars:
            self._registrars.setdefault(path, []).extend(registrars)
            self.leading.update([path], *filled.values())
            self._unread = [unread for unread in self._unread if not filled.get(unread)]
        for registrar in registrars:
            module = self.project.module(registrar)
            if module is not None:
                self.module_env(module)
        self._asked[path] = len(self._envs)

    def around(self, path: str) -> list[str]:
        """Return what the module at `path` imports, and those that fill its dicts, with theirs."""
        self.read_registrars(path)
        registrars = self._registrars.get(path, [])
        imported = self.project.imports.imported
        return [*registrars, *chain.from_iterable(map(imported, [path, *registrars]))]

    def _run_unread(self, read: set[str]) -> list[str]:
        """Return the modules that run for what those at `read` import, and that were not read.

        To import a module runs the packages around it, too, and a star what `__all__` names.
        """
        files, imports = self.project.files, self.project.imports
        run: set[str] = set()
        new = imports.reached(*read)
        while new:
            run |= new
            beside = {file for path in new for file in _run_beside(files, path)}
            new = imports.reached(*beside) - run
        return sorted(path for path in run - read if files.is_written(path))

    def is_read(self, path: str) -> bool:
        """Return whether the module at `path` has been read."""
        module = self.project.known(path)
        return module is not None and module in self._envs

    def module_name(self, module: Module, name: str) -> Value | None:
        """Return a global of `module`, its star imports included; None where there is none."""
        value = self.module_env(module).names.get(name)
        if value is not None or module not in self.star_imports:
            return value
        external = None
        for starred in self._with_star_imports(module):
            value = self.module_env(starred).names.get(name)
            if value is not None:
                return value
            external = external or self._external_star(starred, name)
        return external

    def module_names(self, module: Module) -> dict[str, Value]:
        """Return the globals of `module`, those of the star imports that were read included."""
        names: dict[str, Value] = {}
        for source in self._with_star_imports(module):
            if source in self._envs:
                names = {**self._envs[source].names, **names}
        return names

    def _with_star_imports(self, module: Module) -> Iterator[Module]:
        """Yield the module, and what it imports with a star, each once."""
        # Modules may import each other with a star.
        stack, seen = [module], {module}
        while stack:
            current = stack.pop()
            yield current
            for source in reversed(self.star_imports.get(current, ())):
                if isinstance(source, ModuleValue) and not self.is_generated(source.path):
                    starred = self.project.module(source.path)
                    if starred is not None and starred not in seen:
                        seen.add(starred)
                        stack.append(starred)

    def _external_star(self, module: Module, name: str) -> External | None:
        """Return the name outside the project that a star import of `module` may mean.

        Of those that are known to hold the name, the last one binds it.
        """
        paths = [
            source.path
            for source in self.star_imports.get(module, ())
            if isinstance(source, External) and not name.startswith("_")
        ]
        holders = [path for path in paths if self.library.holds(path, name)]
        return self.library.starred((holders[-1:] or paths)[0], name) if paths else None

    def is_generated(self, path: str) -> bool:
        """Return whether the module at `path` holds nothing that runs."""
        return self.library.is_generated(self.project, path)

    def follows(self, path: str, asking: Importer | None = None) -> bool:
        """Return whether the module at `path` is read.

        On the host it may only cost time: what is handed on to an entry point is read after all.
        """
        if self.library.is_generated(self.project, path):
            return False
        is_wanted = self.follow_all or path in self.leading
        if is_wanted or self.library.follows(self.project, path, asking):
            return True
        self.skipped_module = True
        return False

    def module_attribute(
        self, base: ModuleValue, name: str, asking: Importer | None, hops: int = 0
    ) -> Value:
        """Return `module.name`: a global, or a module inside the package."""
        global_value = None
        if self.follows(base.path, asking) or self.project.hands_on(base.path, name):
            module = self.project.module(base.path)
            global_value = self.module_name(module, name) if module is not None else None
            again = Imported(base.path, base.dotted, name)
            if not (
                global_value is None or isinstance(global_value, External) or global_value == again
            ):
                return self.looked_up(global_value, asking, hops + 1)
        inner = self.project.files.child(base.path, name)
        if inner is not None:
            return ModuleValue(inner, f"{base.dotted}.{name}")
        return global_value or values.DeferredName(f"{base.dotted}.{name}", base, name)

    def globals_of(self, base: ModuleValue, asking: Importer) -> dict[str, Value]:
        """Return the names of a module, to set one; those of a copy where it is not read."""
        module = self.project.module(base.path) if self.follows(base.path, asking) else None
        return {} if module is None else self.module_env(module).names

    def force_load(self, value: Value) -> Value:
        """Return `value`, its module now read: it was passed by, and given to an entry point."""
        if not isinstance(value, values.DeferredName):
            return value
        module = self.project.module(value.base.path)
        global_value = self.module_name(module, value.name) if module is not None else None
        return value if global_value is None else self.looked_up(global_value, None)

    def looked_up(self, value: Value, asking: Importer | None, hops: int = 0) -> Value:
        """Follow `value`, an imported name, to what it names (modules may import in a ring)."""
        if not isinstance(value, Imported):
            return value
        if hops > MAX_REEXPORTS:
            return values.UNKNOWN
        base = ModuleValue(value.path, value.dotted)
        return self.module_attribute(base, value.name, asking, hops)

    def imported(self, module: Module, dotted: str, level: int) -> Value:
        """Return what `import dotted` binds; outside names stay dotted names."""
        path = self.project.files.locate(module.path, dotted, level)
        name = dotted if level == 0 else f"{'.' * level}{dotted}"
        return External(name) if path is None else ModuleValue(path, name)

    def import_name(
        self, module: Module, source: Value, dotted: str, level: int, name: str
    ) -> Value:
        """Return what `from source import name` binds."""
        if isinstance(source, ModuleValue):
            return Imported(source.path, source.dotted, name)
        full_name = f"{dotted}.{name}" if dotted else name
        inner = self.project.files.locate(module.path, full_name, level)
        return outside(full_name) if inner is None else ModuleValue(inner, full_name)


def _run_beside(files: Files, path: str) -> Iterator[str]:
    """Yield the files of the packages around a module, and what `__all__` of a package names."""
    folder = os.path.dirname(path)
    while files.is_written(os.path.join(folder, PACKAGE)):
        yield os.path.join(folder, PACKAGE)
        folder = os.path.dirname(folder)
    listed = _ALL.search(files.data(path)) if path.endswith(os.sep + PACKAGE) else None
    for name in _STRING.findall(listed.group(1)) if listed is not None else ():
        inside = files.child(path, name.decode())
        if inside is not None:
            yield inside
