"""The name by which a module knows TensorFlow."""

from __future__ import annotations

import re

from tpulint.analysis.domain.site import Module

IMPORT = re.compile(
    r"^import tensorflow(?:\.compat\.(v[12]))?(?:[ \t]+as[ \t]+(\w+))?[ \t]*(?:#.*)?$", re.MULTILINE
)
FROM = re.compile(
    r"^from tensorflow\.compat import (v[12])(?:[ \t]+as[ \t]+(\w+))?[ \t]*(?:#.*)?$", re.MULTILINE
)


def tensorflow_in(module: Module) -> str | None:
    """Return what comes before `.reshape` in the module; None where it does not import that."""
    whole = IMPORT.search(module.text)
    if whole is not None:
        generation, name = whole.groups()
        if generation is None:
            return name or "tensorflow"
        return name or f"tensorflow.compat.{generation}"
    part = FROM.search(module.text)
    return (part[2] or part[1]) if part is not None else None


def first_api_in(module: Module) -> str | None:
    """Return what comes before `.tpu.CrossShardOptimizer`, a name of TensorFlow 1's API."""
    name = tensorflow_in(module)
    if name is None:
        return None
    first = re.search(
        rf"^(?:import tensorflow\.compat\.v1 as|from tensorflow\.compat import v1 as) {name}\b",
        module.text,
        re.MULTILINE,
    )
    return name if first is not None else f"{name}.compat.v1"
