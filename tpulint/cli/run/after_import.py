"""Call a function as soon as a module has been imported, by whomever and whenever.

So a program meets TensorFlow when it asks for it: what it sets in `os.environ` before counts, and
one that only prints its help never waits for TensorFlow.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


def after_import(name: str, do: Callable[[], None]) -> None:
    """Call `do` once, when the module `name` has been imported; at once where it is already."""
    if name in sys.modules:
        do()
    else:
        sys.meta_path.insert(0, _Watcher(name, do))


class _Watcher:
    """A finder of modules, as `sys.meta_path` holds them."""

    def __init__(self, name: str, do: Callable[[], None]) -> None:
        self.name = name
        self.do = do

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            self.follow(spec.loader.exec_module, spec)
        return spec

    def follow(self, execute: Callable[[ModuleType], None], spec: ModuleSpec) -> None:
        def exec_module(module: ModuleType) -> None:
            execute(module)
            self.do()

        # On this one loader: it keeps its class, by which others know how to read the source.
        vars(spec.loader)["exec_module"] = exec_module
