"""The front ends of the analysis: one record per library whose programs it reads.

A program is read with the front ends of all packages that its files import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from itertools import chain
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tpulint.absint.interpreter.frame import Library
    from tpulint.frontends.tensorflow.settings import Settings

# The modules that hold a record, as FRONT_END. The first is that of programs that import none.
MODULES = ["tpulint.frontends.tensorflow"]


class FrontEnd(NamedTuple):
    """What the analysis knows of one library.

    packages: the roots of its packages.
    installed: packages that are never the project's, even where it has a folder of that name.
    begins: whether a program begins in a file with these bytes, by the names in them and by those
    that are configured; the last argument says whether they name a TPU, where that is known.
    library: its `Library`, with entry names, models and tables, as "module:name". It is imported
    when the first program is read.
    """

    packages: frozenset[str]
    installed: frozenset[str]
    begins: Callable[[bytes, Iterable[str], bool | None], bool]
    library: str

    def load(self, settings: Settings) -> Library:
        """Return the library for the user's settings."""
        library: Library = resolve_name(self.library)(settings)
        return library


@cache
def front_ends() -> tuple[FrontEnd, ...]:
    """Return the records of MODULES."""
    return tuple(import_module(name).FRONT_END for name in MODULES)


@cache
def installed() -> frozenset[str]:
    """Return the packages that no project has a module of its own for."""
    return frozenset().union(*(front_end.installed for front_end in front_ends()))


def is_start(data: bytes, names: Iterable[str], tpus: bool | None = None) -> bool:
    """Return whether a program begins in a file with these bytes, by any front end."""
    return any(front_end.begins(data, names, tpus) for front_end in front_ends())


def used_by(texts: Iterable[str]) -> list[FrontEnd]:
    """Return the front ends of the packages that modules with these texts import."""
    from tpulint.absint.resolver.import_graph import imports

    names = chain.from_iterable(imports(text.encode()) for text in texts)
    roots = {dotted.partition(".")[0] for dotted, level, _ in names if not level}
    used = [front_end for front_end in front_ends() if not front_end.packages.isdisjoint(roots)]
    return used or [front_ends()[0]]
