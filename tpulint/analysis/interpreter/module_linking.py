"""Modules on demand: which name of which module an import means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from tpulint.analysis.domain.effects import SCOPE
from tpulint.analysis.domain.events import MODEL_FN, Context
from tpulint.analysis.domain.objects import Env
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Module
from tpulint.analysis.domain.values import (
    UNKNOWN,
    DeferredName,
    External,
    Imported,
    ModuleValue,
    Value,
)
from tpulint.analysis.resolver.project import Project

HOPS = 16  # re-exports of one name


class Importer(Protocol):
    """Code that asks for a name of another module: a frame, as far as this file is concerned."""

    context: Context
    module: Module


class ModuleLinker(ABC):
    """Resolves names of modules, which are read when they are first asked for.

    follow_all: whatever is imported is read. passed_by: a module was not read that might
    have mattered to a host cluster.
    """

    def __init__(self, project: Project, program: Program) -> None:
        self.project = project
        self.program = program
        self.follow_all = False
        self.passed_by = False
        self._envs: dict[Module, Env] = {}
        self._star_imports: dict[Module, list[Value]] = {}

    @abstractmethod
    def read_body(self, module: Module, env: Env) -> None:
        """Read the body of a module; its names are bound in `env`."""

    def module_env(self, module: Module) -> Env:
        """The names of `module`; its body is read at the first question."""
        env = self._envs.get(module)
        if env is None:
            env = self._envs[module] = Env({})
            self.program.modules.append(module)
            self.read_body(module, env)
        return env

    def import_all(self, module: Module, source: Value) -> None:
        """`from source import *` in `module`."""
        self._star_imports.setdefault(module, []).append(source)

    def module_name(self, module: Module, name: str) -> Value | None:
        """A global of `module`, its star imports included; None where there is none."""
        found = self.module_env(module).names.get(name)
        if found is not None:
            return found
        for source in self._star_imports.get(module, ()):
            if isinstance(source, ModuleValue) and self.follows(source.path):
                starred = self.project.module(source.path)
                inner = self.module_name(starred, name) if starred is not None else None
                if inner is not None:
                    return inner
        for source in self._star_imports.get(module, ()):
            if isinstance(source, External) and not name.startswith("_"):
                return External(f"{source.path}.{name}")
        return None

    def follows(self, path: str, asking: Importer | None = None) -> bool:
        """Whether the module at `path` is read.

        It is where it matters by itself, where host clusters are opened around here, where
        computations are built by hand in the module that imports it, in device code and
        under a strategy's scope where that module makes the TPUStrategy (anywhere in that
        one, where it makes what belongs under a scope), and in a model_fn where it updates
        variables.
        """
        if self.follow_all or self.project.matters(path):
            return True
        if asking is not None:
            context, module = asking.context, asking.module
            if context.cluster is not None or module.builds_computations:
                return True
            of_strategy = context.computation is not None or bool(context.with_blocks(SCOPE))
            if module.makes_tpu_strategy and (
                of_strategy or self.project.makes_keras_objects(path)
            ):
                return True
            of_estimator = context.computation is not None and context.computation.kind == MODEL_FN
            if of_estimator and self.project.applies_gradients(path):
                return True
        self.passed_by = True
        return False

    def module_attribute(
        self, base: ModuleValue, name: str, asking: Importer | None, hops: int = 0
    ) -> Value:
        """`module.name`: a global, or a module inside the package."""
        found = None
        if self.follows(base.path, asking):
            module = self.project.module(base.path)
            found = self.module_name(module, name) if module is not None else None
            again = Imported(base.path, base.dotted, name)
            if found is not None and not isinstance(found, External) and found != again:
                return self.looked_up(found, asking, hops + 1)
        inner = self.project.child(base.path, name)
        if inner is not None:
            return ModuleValue(inner, f"{base.dotted}.{name}")
        return found if found is not None else DeferredName(f"{base.dotted}.{name}", base, name)

    def read_after_all(self, value: Value) -> Value:
        """`value`, its module read although it was passed by: it was given to an entry point."""
        if not isinstance(value, DeferredName):
            return value
        module = self.project.module(value.base.path)
        found = self.module_name(module, value.name) if module is not None else None
        return value if found is None else self.looked_up(found, None)

    def looked_up(self, value: Value, asking: Importer | None, hops: int = 0) -> Value:
        """`value`, an imported name followed to what it names (modules may import in a ring)."""
        if not isinstance(value, Imported):
            return value
        if hops > HOPS:
            return UNKNOWN
        base = ModuleValue(value.path, value.dotted)
        return self.module_attribute(base, value.name, asking, hops)

    def imported(self, module: Module, dotted: str, level: int) -> Value:
        """What `import dotted` binds; outside names stay dotted names."""
        found = self.project.locate(module, dotted, level)
        name = dotted if level == 0 else f"{'.' * level}{dotted}"
        return External(name) if found is None else ModuleValue(found, name)

    def import_name(
        self, module: Module, source: Value, dotted: str, level: int, name: str
    ) -> Value:
        """What `from source import name` binds."""
        if isinstance(source, ModuleValue):
            return Imported(source.path, source.dotted, name)
        whole = f"{dotted}.{name}" if dotted else name
        inner = self.project.locate(module, whole, level)
        return External(whole) if inner is None else ModuleValue(inner, whole)
