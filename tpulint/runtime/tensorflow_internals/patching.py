"""Patch TensorFlow, in the places that `patch_table` lists, and restore it."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from tpulint.runtime.tensorflow_internals.patch_table import PATCHES

_TARGETS = frozenset(patch.target for patch in PATCHES)


def install(patches: Iterable[contextlib.AbstractContextManager[None]]) -> contextlib.ExitStack:
    """Enter `patches`, and return the stack whose `close()` undoes them, last to first."""
    with contextlib.ExitStack() as installed:
        for patch in patches:
            installed.enter_context(patch)
        return installed.pop_all()


def patched(target: str, new: Any) -> contextlib.AbstractContextManager[None]:
    """Replace the attribute `target` of TensorFlow by `new` in the context.

    Raises:
        KeyError: the table does not list `target`.
    """
    if target not in _TARGETS:
        raise KeyError(f"{target} is not in the table of patches")
    owner, name = owner_of(target)
    return replaced(owner, name, new)


def owner_of(target: str) -> tuple[Any, str]:
    """Return the module or class of TensorFlow that has the attribute `target`, and its name."""
    *path, name = target.split(".")
    loaded = max(n for n in range(1, len(path) + 1) if ".".join(path[:n]) in sys.modules)
    return functools.reduce(getattr, path[loaded:], sys.modules[".".join(path[:loaded])]), name


@contextlib.contextmanager
def replaced(owner: Any, name: str, new: Any) -> Iterator[None]:
    """Give `owner` in the context `new` as its own attribute `name`."""
    own = vars(owner)
    saved = (own[name],) if name in own else ()
    setattr(owner, name, new)
    try:
        yield
    finally:
        if saved:
            setattr(owner, name, saved[0])
        else:
            delattr(owner, name)
