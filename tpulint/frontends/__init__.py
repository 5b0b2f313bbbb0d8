"""The front ends of the analysis: one record per library whose programs it reads.

A program is read with the front ends of all packages that its files import. Of the frameworks that
run on TPUs, those without a front end are only counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tpulint.absint.interpreter.frame import Library
    from tpulint.disk import Disk
    from tpulint.frontends.settings import Settings
    from tpulint.frontends.tensorflow.spelling_search import NamesInFile as NamesInFile
    from tpulint.frontends.tensorflow.spelling_search import Spelled as Spelled
    from tpulint.frontends.tensorflow.spelling_search import SpellingSearch as SpellingSearch
    from tpulint.frontends.tensorflow.target_release import Targets as Targets

# The modules that hold a record, as FRONT_END. The first is that of programs that import none.
MODULES = ["tpulint.frontends.tensorflow"]


class FrontEnd(NamedTuple):
    """What the analysis knows of one library.

    packages: the roots of its packages.
    installed: packages that are never the project's, even where it has a folder of that name.
    begins: whether a program begins in a file with these bytes, by the names in them and by those
    that are configured; the last argument says whether they name a TPU, where that is known.
    signs: names of which each begins a program, as bytes.
    owns: whether a dotted name is one of the library's.
    library: its `Library`, with entry names, models and tables, as "module:name". It is imported
    when the first program is read.
    names_tpu: whether these bytes name a TPU.
    is_of_home: whether a file with these bytes is of one program with such files of its package,
    though none imports the other.
    placement: whether a program with these bytes lets operations run elsewhere that a TPU lacks:
    `file_facts.ON`, `file_facts.PERHAPS` or None.
    """

    packages: frozenset[str]
    installed: frozenset[str]
    begins: Callable[[bytes, Iterable[str], bool | None], bool]
    signs: tuple[bytes, ...]
    owns: Callable[[str], bool]
    library: str
    names_tpu: Callable[[bytes], bool] = lambda _: False
    is_of_home: Callable[[bytes], bool] = lambda _: False
    placement: Callable[[bytes], str | None] = lambda _: None

    def load(self, settings: Settings) -> Library:
        """Return the library for the user's settings."""
        from pkgutil import resolve_name

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


def names_a_tpu(data: bytes) -> bool:
    """Return whether these bytes name a TPU, by any front end."""
    return any(front_end.names_tpu(data) for front_end in front_ends())


def is_of_home(data: bytes) -> bool:
    """Return whether a file with these bytes is of one program with such files of its package."""
    return any(front_end.is_of_home(data) for front_end in front_ends())


def placement_in(data: bytes) -> str | None:
    """Return the soft placement of a program with these bytes, by the first that has one."""
    placements = (front_end.placement(data) for front_end in front_ends())
    return next((placement for placement in placements if placement is not None), None)


def sign_in(data: bytes) -> str:
    """Return the first name in these bytes that begins a program, "" if none does by itself."""
    signs = chain.from_iterable(front_end.signs for front_end in front_ends())
    return next((sign.decode() for sign in signs if sign in data), "")


def is_of_library(path: str) -> bool:
    """Return whether a dotted name is one of a library that has a front end."""
    return any(front_end.owns(path) for front_end in front_ends())


def used_by(texts: Iterable[str]) -> list[FrontEnd]:
    """Return the front ends of the packages that modules with these texts import."""
    from tpulint.absint.resolver.import_graph import imports

    names = chain.from_iterable(imports(text.encode()) for text in texts)
    roots = {dotted.partition(".")[0] for dotted, level, _ in names if not level}
    used = [front_end for front_end in front_ends() if not front_end.packages.isdisjoint(roots)]
    return used or [front_ends()[0]]


class Framework(NamedTuple):
    """A framework that runs on TPUs, and the roots of its packages."""

    name: str
    packages: tuple[bytes, ...]


# By the initial that stands for it in the facts of a file.
FRAMEWORKS = {
    "t": Framework("TensorFlow", (b"tensorflow", b"keras")),
    "j": Framework("JAX", (b"jax", b"flax")),
    "x": Framework("PyTorch/XLA", (b"torch_xla",)),
}
_IS_NAMED = {
    package: re.compile(rb"(?<![\w.])%s\b" % package)
    for framework in FRAMEWORKS.values()
    for package in framework.packages
}


def frameworks_in(imports: bytes) -> str:
    """Return the initials of the frameworks that these import statements name."""
    return "".join(
        initial
        for initial, framework in FRAMEWORKS.items()
        if any(name in imports and _IS_NAMED[name].search(imports) for name in framework.packages)
    )


def frameworks_not_read() -> dict[str, str]:
    """Return the names of the frameworks without a front end, by their initials."""
    read = frameworks_read()
    rows = FRAMEWORKS.items()
    return {initial: framework.name for initial, framework in rows if framework.name not in read}


def frameworks_read() -> list[str]:
    """Return the names of the frameworks that have a front end."""
    read = {package.encode() for front_end in front_ends() for package in front_end.packages}
    rows = FRAMEWORKS.values()
    return [framework.name for framework in rows if not read.isdisjoint(framework.packages)]


# The names that some release of a library lacks. Only TensorFlow has a table of its releases.


def names_in(data: bytes) -> NamesInFile:
    """Return the names in the bytes of a file that some release lacks."""
    from tpulint.frontends.tensorflow.spelling_search import names_in_file

    return names_in_file(data)


def targets_of(settings: Settings, disk: Disk) -> Targets:
    """Return the releases that files are written for: configured, or by the project on a disk."""
    from tpulint.frontends.tensorflow.target_release import Targets

    return Targets(settings.target_tensorflow, disk)


def search_names(targets: Targets) -> SpellingSearch:
    """Return a search for names that the releases of their files lack."""
    from tpulint.frontends.tensorflow.spelling_search import SpellingSearch

    return SpellingSearch(targets)
