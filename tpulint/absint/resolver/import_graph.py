"""The import graph of a project, found in the bytes of its files and only on demand."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap
from typing import NamedTuple, TypeAlias

from tpulint.absint.resolver.files import PACKAGE, Files
from tpulint.notebook import BrokenNotebook, python_cells

Written: TypeAlias = "tuple[bytes, bytes]"

_IMPORT = re.compile(rb"import(?<!\wimport)[ \t(]")
_FROM = re.compile(rb"(?:^|[:;])[ \t]*from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+$")
_PLAIN = re.compile(rb"(?:^|[:;])[ \t]*$")
_LISTED = re.compile(rb"[ \t]*(\([^)]*\)|[^\n#;\\]*(?:\\\r?\n[^\n#;\\]*)*)")
_ENDS = (b":", b";")  # of what stands before a statement in its row
_COMMENT = re.compile(rb"#[^\n]*")
_NAME = re.compile(rb"(?:^|,)[\s(\\]*([\w.]+|\*)")


class ImportedNames(NamedTuple):
    """`import dotted` (no names), or `from dotted import names` with `level` dots before it."""

    dotted: str
    level: int
    names: tuple[str, ...]


def imports(data: bytes) -> Iterator[ImportedNames]:
    """Every import statement, those in functions and under conditions included."""
    return chain.from_iterable(starmap(imported_names, statements(data)))


def statements(data: bytes) -> Iterator[Written]:
    """Yield what may be an import statement, as it is written: before `import`, and after it."""
    for match in _IMPORT.finditer(data):
        before = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()]
        if before.strip() and not (b"from" in before or before.rstrip().endswith(_ENDS)):
            continue  # the word is in prose, or in a string
        listed = _LISTED.match(data, match.start() + len(b"import"))
        assert listed is not None
        yield before, listed.group(1)


def binds(data: bytes, name: str) -> bool:
    """Return whether an import statement binds `name`, which most modules do not even name."""
    word = name.encode()
    if word not in data:
        return False
    whole = re.compile(rb"\b%s\b" % re.escape(word))
    return any(whole.search(listed) for _, listed in statements(data))


@functools.lru_cache(maxsize=1 << 14)  # most modules import what many others do
def imported_names(before: bytes, listed: bytes) -> tuple[ImportedNames, ...]:
    """Return what is imported; nothing where the words are no statement."""
    origin = _FROM.search(before)
    if origin is None and not _PLAIN.search(before):
        return ()
    names = _NAME.findall(_COMMENT.sub(b"", listed) if b"#" in listed else listed)
    decoded = tuple(name.decode("utf-8", "replace") for name in names)
    if origin is None:
        return tuple(ImportedNames(each, 0, ()) for each in decoded)
    dotted = origin.group(2).decode("utf-8", "replace")
    return (ImportedNames(dotted, len(origin.group(1)), decoded),)


NOTEBOOK = ".ipynb"


class ImportGraph:
    """The files that a file imports, by absolute paths; `known` are those of some files."""

    def __init__(self, files: Files, known: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._files = files
        self.known = dict(known or {})
        self._folder = ""  # of the file that was read last
        self._in_folder: dict[Written, tuple[str, ...]] = {}  # by statement, what it means there

    def probe_package_roots(self, path: str) -> None:
        """Look into the folders that say in which package a file is."""
        self._files.probe_package_roots(path)

    def imported(self, path: str) -> tuple[str, ...]:
        """Return the files of the project that the file at `path` imports, each once."""
        cached = self.known.get(path)
        if cached is None:
            cached = self.known[path] = self._meant(path, statements(self._text(path)))
        return cached

    def learn(self, path: str, written: Iterable[Written]) -> None:
        """Take the import statements of the file at `path` from who has read it."""
        if not path.endswith(NOTEBOOK):
            self.known[path] = self._meant(path, written)

    def reached(self, path: str) -> set[str]:
        """Return the file and all that it imports, directly or not."""
        reached = {path}
        waiting = [path]
        while waiting:
            for each in self.imported(waiting.pop()):
                if each not in reached:
                    reached.add(each)
                    waiting.append(each)
        return reached

    def _text(self, path: str) -> bytes:
        data = self._files.data(path)
        if not path.endswith(NOTEBOOK):
            return data
        try:
            return python_cells(data).encode(errors="replace")
        except BrokenNotebook:
            return b""

    def _meant(self, path: str, every: Iterable[Written]) -> tuple[str, ...]:
        """Return the files of statements: in all modules of a folder one means the same."""
        folder = os.path.dirname(path)
        if folder != self._folder:
            self._folder, self._in_folder = folder, {}
        found: dict[str, None] = {}
        for statement in every:
            meant = self._in_folder.get(statement)
            if meant is None:
                names = imported_names(*statement)
                meant = tuple(file for name in names for file in self._files_of(path, name))
                self._in_folder[statement] = meant
            found.update(dict.fromkeys(meant))
        return tuple(found)

    def _files_of(self, path: str, imported: ImportedNames) -> Iterable[str]:
        dotted, level, names = imported
        if level == 0 and not self._files.can_resolve(path, dotted):
            return
        locate = self._files.locate
        module = locate(path, dotted, level)
        if module is not None:
            yield module
        if module is None or module.endswith(os.sep + PACKAGE):
            for name in names:
                inner = locate(path, f"{dotted}.{name}" if dotted else name, level)
                if inner is not None:
                    yield inner


def importers(graph: ImportGraph, files: Sequence[str]) -> dict[str, list[str]]:
    """Return by file what imports it, of the files and all that these import."""
    found: dict[str, list[str]] = {}
    seen = set(files)
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        for imported in graph.imported(path):
            found.setdefault(imported, []).append(path)
            if imported not in seen:
                seen.add(imported)
                waiting.append(imported)
    return found


class Connected(NamedTuple):
    """Files that imports bind together: the `seeds` among them, and `all` that these reach.

    callers: those that reach a seed by their imports, and are none.
    """

    seeds: list[str]
    all: set[str]
    callers: list[str]


def above(graph: ImportGraph, seeds: Collection[str], files: Sequence[str]) -> set[str]:
    """Return those of `files` that reach a seed by their imports, and are none."""
    ways = importers(graph, files)
    within = set(files).difference(seeds)
    found: set[str] = set()
    waiting = list(seeds)
    while waiting:
        for path in ways.get(waiting.pop(), ()):
            if path in within and path not in found:
                found.add(path)
                waiting.append(path)
    return found


def connected(
    graph: ImportGraph,
    seeds: Collection[str],
    bound: Iterable[list[str]] = (),
    files: Sequence[str] = (),
) -> list[Connected]:
    """Return the seeds in groups: two are of one where they reach a common file, directly or not.

    Seeds that are `bound` are of one group, too, and those that one of `files` reaches. Groups,
    and the seeds of each, are in alphabetical order.
    """
    callers = above(graph, seeds, files)
    owner: dict[str, str] = {}  # of each file reached, the seed that reached it first
    parent: dict[str, str] = {}

    def group_of(seed: str) -> str:
        while parent[seed] != seed:
            parent[seed] = parent[parent[seed]]
            seed = parent[seed]
        return seed

    for seed in sorted(callers.union(seeds)):
        parent[seed] = seed
        waiting = [seed]
        while waiting:
            path = waiting.pop()
            if path in owner:
                first, other = sorted((group_of(owner[path]), group_of(seed)))
                parent[other] = first
                continue
            owner[path] = seed
            waiting.extend(graph.imported(path))
    for together in bound:
        for seed in together[1:]:
            first, other = sorted((group_of(together[0]), group_of(seed)))
            parent[other] = first
    groups: dict[str, Connected] = {}
    for seed in parent:
        group = groups.setdefault(group_of(seed), Connected([], set(), []))
        (group.callers if seed in callers else group.seeds).append(seed)
    for path, seed in owner.items():
        groups[group_of(seed)].all.add(path)
    return list(groups.values())
