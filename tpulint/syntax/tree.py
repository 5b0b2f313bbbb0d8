"""libcst's tree of a text, of light nodes."""

from __future__ import annotations

import functools
import gc
import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from importlib.machinery import PathFinder
from operator import methodcaller

from tpulint.syntax import light_nodes
from tpulint.syntax.deep_stack import deeply
from tpulint.syntax.light_nodes import cst


def tree_of(text: str) -> cst.Module:
    """The tree of `text`, of nodes that are libcst's in name and fields (see `light_nodes`).

    Raises:
        NotParsed: it cannot be parsed.
    """
    return deeply(lambda: _tree_of(text))


def _tree_of(text: str) -> cst.Module:
    """Parse while `light_nodes` stands for libcst, which no other thread ever gets to see.

    `map` takes the three steps in C: between them, and in them, no line of Python runs, so
    CPython changes to no other thread. A collection of garbage could run one. A Python without
    the global interpreter lock promises nothing of this: there, one thread alone may use libcst.
    """
    modules, real = sys.modules, sys.modules.get("libcst")
    exchange = partial(modules.__setitem__, "libcst", light_nodes)
    put_back = (
        partial(modules.pop, "libcst", None)
        if real is None
        else partial(modules.__setitem__, "libcst", real)
    )
    tree: cst.Module
    steps = [exchange, partial(_native_parser(), text), put_back]
    collects = gc.isenabled()
    gc.disable()
    try:
        _, tree, _ = map(methodcaller("__call__"), steps)
    except BaseException:
        put_back()
        raise
    finally:
        if collects:
            gc.enable()
    return tree


@functools.cache
def _native_parser() -> Callable[[str], cst.Module]:
    """Load libcst's native parser alone: the rest of libcst takes as long as 5,000 lines."""
    package = importlib.util.find_spec("libcst")
    assert package is not None
    found = PathFinder.find_spec("libcst.native", package.submodule_search_locations)
    assert found is not None and found.loader is not None
    native = importlib.util.module_from_spec(found)
    found.loader.exec_module(native)
    parse: Callable[[str], cst.Module] = native.parse_module
    return parse
