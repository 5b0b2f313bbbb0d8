"""The name by which a module knows TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.site import Module
from tpulint.syntax.statement_nodes import Import, ImportFrom

MODULES = {"tensorflow": "", "tensorflow.compat.v1": "v1", "tensorflow.compat.v2": "v2"}


def tensorflow_in(module: Module) -> str | None:
    """Return what comes before `.reshape` in the module; None where it does not import that."""
    return next((name for name, _ in imported(module)), None)


def first_api_in(module: Module) -> str | None:
    """Return what comes before `.tpu.CrossShardOptimizer`, a name of TensorFlow 1's API."""
    for name, generation in imported(module):
        return name if generation == "v1" else f"{name}.compat.v1"
    return None


def imported(module: Module) -> Iterator[tuple[str, str]]:
    """Yield the names of TensorFlow in the module with what they name, whole modules first."""
    body = module.facts.body
    aliases = [alias for each in body if isinstance(each, Import) for alias in each.names]
    parts = [each for each in body if isinstance(each, ImportFrom) and not each.level]
    for alias in aliases:
        if alias.name in MODULES:
            yield alias.asname or alias.name, MODULES[alias.name]
    for part in parts:
        for alias in part.names or ():
            if f"{part.module}.{alias.name}" in MODULES:
                yield alias.asname or alias.name, MODULES[f"{part.module}.{alias.name}"]
