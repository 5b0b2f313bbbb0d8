"""The attributes of TensorFlow's modules and classes, and those that changed in between."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

Attributes = dict[int, tuple[Any, dict[str, Any]]]
"""By the id of a module or class of TensorFlow: it, and its own attributes."""


def attributes() -> Attributes:
    """Return the attributes of the modules of TensorFlow that are loaded, and of their classes."""
    actual: Attributes = {}
    unread: list[Any] = [
        module for name, module in list(sys.modules.items()) if _is_of_tensorflow(name)
    ]
    while unread:
        owner = unread.pop()
        if id(owner) in actual or not hasattr(owner, "__dict__"):
            continue
        actual[id(owner)] = owner, dict(vars(owner))
        unread += [
            value
            for value in actual[id(owner)][1].values()
            if isinstance(value, type) and _is_of_tensorflow(value.__module__)
        ]
    return actual


def changed(before: Attributes, after: Attributes) -> set[str]:
    """Return the dotted names of the attributes that were replaced, added or removed.

    Modules and classes that were loaded in between are not compared, nor is what Python caches in
    a class, such as the implementations of an ABC.
    """
    names = set()
    for key, (owner, old) in before.items():
        new = after[key][1]
        for name in old.keys() | new.keys():
            if old.get(name, _NOTHING) is not new.get(name, _NOTHING) and not _is_cache(
                name, new.get(name)
            ):
                names.add(f"{_dotted(owner)}.{name}")
    return names


_NOTHING = object()


def _is_of_tensorflow(name: object) -> bool:
    return isinstance(name, str) and (name == "tensorflow" or name.startswith("tensorflow."))


def _is_cache(name: str, value: Any) -> bool:
    return isinstance(value, ModuleType) or name == "__warningregistry__"


def _dotted(owner: Any) -> str:
    if isinstance(owner, ModuleType):
        return owner.__name__
    return f"{owner.__module__}.{owner.__qualname__}"
