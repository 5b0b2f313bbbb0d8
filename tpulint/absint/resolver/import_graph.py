"""The files of a project, and which one imports which: by what is on disk and by nothing else.

Imports are found in the bytes of the files, and only on demand.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, starmap
from typing import NamedTuple, TypeAlias

from tpulint.disk import CHILD_FOLDERS, MODULES, Disk, may_be_folder
from tpulint.ordering import reachable

PACKAGE = "__init__.py"
MAX_PARENT_FOLDERS = 8  # folders above a file's outermost package in which its imports may start
# The files at the top of a project: such a folder is no part of a package.
PROJECT_FILES = frozenset(
    ["pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg", "requirements.txt", "README.md"]
)
# A child folder of a project with one of these is installed by itself: its packages are imported.
DISTRIBUTION_FILES = ("setup.py", "pyproject.toml", "setup.cfg")
MAX_CHILD_FOLDERS = 64  # of a project; one with more is a collection of programs
# What archives add to the name of a repository: a branch, a version or a commit.
REVISION = r"master|main|develop|dev|trunk|v?\d[\w.]*|[0-9a-f]{7,40}"


class Files:
    """A finder of the file of a dotted name.

    What it asks of `disk` decides its answers. It asks each question once, so that a disk which
    records questions is not slowed down by repetitions. installed: the packages that are not the
    project's even where it has a folder of that name.
    """

    def __init__(self, disk: Disk | None = None, *, installed: frozenset[str]) -> None:
        self.disk = disk or Disk()
        self._installed = installed
        self._added: dict[str, tuple[str, ...]] = {}
        self._folder_of = cache(os.path.dirname)
        self._has = cache(self.disk.has)
        self._names_in = cache(self.disk.listing)
        self._roots_of = cache(self._find_roots)
        self._distributions_in = cache(self._find_distributions)
        self._module_for = cache(self._search)
        self._has_start = cache(self._find_start)
        self._inside = cache(self._find)

    def locate(self, path: str, dotted: str, level: int) -> str | None:
        """Return the file that `import dotted` in the file at `path` means, or None outside."""
        parts = dotted.split(".") if dotted else []
        if level:
            folder = self._folder_of(path)
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._find(folder, *parts)
        if not parts or parts[0] in self._installed:
            return None
        folder = self._folder_of(path)
        located = self._module_for(folder, dotted)
        if located is None and parts[0] not in sys.stdlib_module_names:
            ways = (self._find_below(root, parts, folder) for root in self.added_roots(path))
            located = next((way for way in ways if way is not None), None)
        return located

    def added_roots(self, path: str) -> tuple[str, ...]:
        """Return the folders that the file at `path` puts on `sys.path`."""
        roots = self._added.get(path)
        return self.learn_added(path, path_entries(self.data(path))) if roots is None else roots

    def learn_added(self, path: str, entries: Iterable[Written]) -> tuple[str, ...]:
        """Take from who has read the file at `path` what it puts on `sys.path`.

        Python takes it from where the program is started: mostly the file's own folder, or the
        top of the project.
        """
        folder = self._folder_of(path)
        roots: list[str] = []
        for before, written in entries:
            literal = _literal_path(written) if before == ON_PATH else None
            if literal is not None:
                ups, relative = literal
                for start in [path] if ups else [folder, self._top_of(folder)]:
                    for _ in range(ups):
                        start = os.path.dirname(start)
                    roots.append(os.path.normpath(os.path.join(start, relative)))
        self._added[path] = tuple(dict.fromkeys(roots))
        return self._added[path]

    def _top_of(self, folder: str) -> str:
        """Return the folder of the project that a folder is in; itself where nothing tells."""
        return next(filter(self._is_project, self._roots_of(folder)), folder)

    def _is_project(self, folder: str) -> bool:
        return any(self._has(folder, name) for name in sorted(PROJECT_FILES))

    def can_resolve(self, path: str, dotted: str) -> bool:
        """Return whether an import of `dotted` can find anything in some root."""
        first = dotted.partition(".")[0]
        if first in self._installed:
            return False
        return self._has_start(self._folder_of(path), first) or any(
            self._holds(root, first) for root in self.added_roots(path)
        )

    def _find_start(self, folder: str, first: str) -> bool:
        """Return whether an import in a folder can begin with this name."""
        roots = self._roots_of(folder)
        is_root = any(self._holds(root, first) or self._is_checkout(root, first) for root in roots)
        return is_root or bool(self._distributions_with(folder, first))

    def _search(self, folder: str, dotted: str) -> str | None:
        """Return the module of the first root that holds it, or is its package's checkout."""
        parts = dotted.split(".")
        roots = self._roots_of(folder)
        rest = parts[1:]
        holders = ((root, parts) for root in roots if self._holds(root, parts[0]))
        checkouts = ((root, rest) for root in roots if rest and self._is_checkout(root, parts[0]))
        for root, below in chain(holders, checkouts):
            located = self._find_below(root, below, folder)
            if located is not None:
                return located
        installed = self._distributions_with(folder, parts[0])
        return self._find(installed[0], *parts) if len(installed) == 1 else None

    def _distributions_with(self, folder: str, name: str) -> list[str]:
        """Return the roots of the distributions beside `folder` that hold the package `name`.

        Only the nearest project with such a distribution counts. Modules do not: those beside a
        `setup.py` are mostly its own tools.
        """
        if name in sys.stdlib_module_names:
            return []
        for above in self._roots_of(folder):
            holders = [
                root
                for root in self._distributions_in(above)
                if self._has(root, name) and self._has(os.path.join(root, name), PACKAGE)
            ]
            if holders:
                return holders
        return []

    def _find_distributions(self, folder: str) -> tuple[str, ...]:
        """Return the import roots of the distributions in the child folders of a project."""
        roots: list[str] = []
        if self._is_project(folder):
            children = sorted(filter(may_be_folder, self.disk.listing(folder, CHILD_FOLDERS)))
            for child in children if len(children) <= MAX_CHILD_FOLDERS else ():
                top = os.path.join(folder, child)
                if any(self._has(top, name) for name in DISTRIBUTION_FILES):
                    roots.append(top)
                    if self._has(top, "src"):
                        roots.append(os.path.join(top, "src"))
        return tuple(roots)

    def _find_below(self, root: str, parts: list[str], folder: str) -> str | None:
        """Return the file of a module in a root, for an import in a folder.

        A mere folder counts where it is a package by PEP 420: for what is in it, and for its
        neighbours where it holds modules and is not the top of another project.
        """
        located = self._find(root, *parts)
        if located is None or self.is_written(located):
            return located
        if (folder + os.sep).startswith(os.path.join(root, parts[0]) + os.sep):
            return located
        names = self._names_in(os.path.join(root, *parts), MODULES)
        is_package = any(name.endswith(".py") for name in names)
        return located if is_package and PROJECT_FILES.isdisjoint(names) else None

    def _holds(self, root: str, name: str) -> bool:
        """Return whether an import of `name` can find anything in a root.

        Python takes a folder without an `__init__` only where nothing else has its name, and its
        own modules do: in a folder that is called `copy`, `import copy` is not that folder.
        """
        if self._has(root, f"{name}.py"):
            return True
        if not self._has(root, name):
            return False
        is_package = name not in sys.stdlib_module_names
        return is_package or self._has(os.path.join(root, name), PACKAGE)

    def _is_checkout(self, root: str, name: str) -> bool:
        """Return whether a root is itself the package `name`, in a folder named after it.

        Archives and mirrors name the folder of a repository that is imported as a package so,
        with its owner's or a revision's name added. A fork adds words: `albert-with-comet`.
        """
        folder = root.rpartition(os.sep)[2]
        if _is_named(folder, name, rf"(?:[-_.@](?:{REVISION}))?"):
            return True
        return _is_named(folder, name, "[-_.].+") and self._has(root, PACKAGE)

    def child(self, path: str, name: str) -> str | None:
        """Return the file of the module `name` inside the package whose `__init__` is at `path`."""
        folder, _, file = path.rpartition(os.sep)
        return self._inside(folder, name) if file == PACKAGE else None

    def is_written(self, path: str) -> bool:
        """Return whether there is such a file: a package without an `__init__` has none."""
        folder, _, name = path.rpartition(os.sep)
        return self._has(folder, name)

    def data(self, path: str) -> bytes:
        """Return the bytes of a file; none where it cannot be read."""
        try:
            return self.disk.read(path)
        except OSError:
            return b""

    def probe_package_roots(self, path: str) -> None:
        """Look into the folders that say in which package the file at `path` is."""
        self._roots_of(os.path.dirname(path))

    def _find(self, folder: str, *parts: str) -> str | None:
        for part in parts[:-1]:
            if not self._has(folder, part):
                return None
            folder = os.path.join(folder, part)
        if not parts:
            return self._package(folder)
        last = parts[-1]
        if self._has(folder, f"{last}.py"):
            return os.path.join(folder, f"{last}.py")
        return self._package(os.path.join(folder, last)) if self._has(folder, last) else None

    def _package(self, folder: str) -> str | None:
        """Return a package's file, its `__init__`, written or not."""
        is_package = self._has(folder, PACKAGE) or self._names_in(folder, MODULES)
        return os.path.join(folder, PACKAGE) if is_package else None

    def _find_roots(self, folder: str) -> tuple[str, ...]:
        """Return the folders in which an absolute import in `folder` can start, likeliest first.

        They are the folder itself, which is a script's; the one around the outermost package,
        which is an installed one's; those above it, each with its `src`; and those between,
        which is where programs start that put them on the path. What marks a project (a
        repository's folder, a pyproject.toml) says nothing here: with it and without it a
        program means the same files. It says where else to look for what none of them holds.
        """
        between = []
        start = folder
        while self._has(start, PACKAGE) and os.path.dirname(start) != start:
            between.append(start)
            start = os.path.dirname(start)
        above = []
        climbed = start
        for _ in range(MAX_PARENT_FOLDERS):
            if os.path.dirname(climbed) == climbed:
                break  # no program starts at the root of the disk
            above.append(climbed)
            if self._has(climbed, "src"):
                above.append(os.path.join(climbed, "src"))
            climbed = os.path.dirname(climbed)
        return tuple(dict.fromkeys([folder, start, *between, *above]))


@lru_cache(maxsize=1 << 14)
def _is_named(folder: str, package: str, rest: str) -> bool:
    held = package.lower().replace("_", "-") in folder.lower().replace("_", "-")
    if not held and (folder + package).isascii():
        return False  # nearly always; to compile a pattern takes longer
    spelled = re.escape(package).replace("_", "[-_]")
    return bool(re.fullmatch(rf"(?:.*(?:[+~@]|__))?{spelled}{rest}", folder, re.IGNORECASE))


Written: TypeAlias = "tuple[bytes, bytes]"

_IMPORT = re.compile(rb"import(?<!\wimport)[ \t(]")
_FROM = re.compile(rb"(?:^|[:;])[ \t]*from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+$")
_PLAIN = re.compile(rb"(?:^|[:;])[ \t]*$")
_LISTED = re.compile(rb"[ \t]*(\([^)]*\)|[^\n#;\\]*(?:\\\r?\n[^\n#;\\]*)*)")
_ENDS = (b":", b";")  # of what stands before a statement in its row
_COMMENT = re.compile(rb"#[^\n]*")
# What is called or filled in the body of a module, by a decorator or a statement of its own.
_AT_IMPORT = rb"(?m)^(?:@(\w+)|(\w+)[.\w]*(?:\(|\[[^\]\n]*\][ \t]*=))"
_NAME = re.compile(rb"(?:^|,)[\s(\\]*([\w.]+|\*)")


class ImportedNames(NamedTuple):
    """`import dotted` (no names), or `from dotted import names` with `level` dots before it."""

    dotted: str
    level: int
    names: tuple[str, ...]


# What a file puts on `sys.path`, as far as the line spells it out.
_PATH_ENTRY = re.compile(
    rb"(?:^|;)[ \t]*sys\.path\.(?:append|insert)\((?:\s*-?\d+\s*,)?([^\n#]+)", re.MULTILINE
)
_STRING = rb"(?:\b[rRuU])?(?P<quote>['\"])(?P<text>[^'\"\\\n{}]*)(?P=quote)"
_OF_PATH = rb"(?:os\.)?path\.|\b(?:join|abspath|realpath|normpath|dirname|__file__)\b"
ON_PATH = b"sys.path"


def path_entries(data: bytes) -> list[Written]:
    """Return what a file puts on `sys.path`, as it is written."""
    if ON_PATH not in data:  # nearly always
        return []
    return [(ON_PATH, match.group(1)) for match in _PATH_ENTRY.finditer(data)]


@lru_cache(maxsize=1024)
def _literal_path(written: bytes) -> tuple[int, str] | None:
    """Return how many folders up from the file a path starts (0: from elsewhere), and the path.

    None where the expression is not all literal, or the path is not relative.
    """
    parts = [match["text"].decode("utf-8", "replace") for match in re.finditer(_STRING, written)]
    rest = re.sub(_STRING, b"", written)
    ups, is_below_file = rest.count(b"dirname"), b"__file__" in rest
    is_literal = not re.sub(_OF_PATH, b"", rest).strip(b" \t\r(),;") and bool(ups) == is_below_file
    if not is_literal or not (parts or ups) or any(map(os.path.isabs, parts)):
        return None
    return ups, os.path.join("", *parts)


def imports(data: bytes) -> Iterator[ImportedNames]:
    """Every import statement, those in functions and under conditions included."""
    return chain.from_iterable(starmap(imported_names, statements(data)))


def statements(data: bytes) -> Iterator[Written]:
    """Yield what may be an import statement, as it is written: before `import`, and after it.

    What the file puts on `sys.path` comes first, for it decides what the imports mean.
    """
    yield from path_entries(data)
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
    pattern = re.compile(rb"\b%s\b" % re.escape(word))
    return any(pattern.search(listed) for before, listed in statements(data) if before != ON_PATH)


@lru_cache(maxsize=1 << 14)  # most modules import what many others do
def imported_names(before: bytes, listed: bytes) -> tuple[ImportedNames, ...]:
    """Return what is imported; nothing where the words are no statement."""
    origin = _FROM.search(before)
    if origin is None and not _PLAIN.search(before):
        return ()
    names = _NAME.findall(_COMMENT.sub(b"", listed) if b"#" in listed else listed)
    decoded = tuple(name.decode("utf-8", "replace") for name in names)
    if origin is None:
        return tuple(ImportedNames(name, 0, ()) for name in decoded)
    dotted = origin.group(2).decode("utf-8", "replace")
    return (ImportedNames(dotted, len(origin.group(1)), decoded),)


NOTEBOOK = ".ipynb"


class ImportGraph:
    """The files that a file imports, by absolute paths; `known` are those of some files."""

    def __init__(self, files: Files, known: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._files = files
        self.known = dict(known or {})
        self._filled: dict[str, tuple[str, ...]] = {}
        self._folder = ""  # of the file that was read last
        self._in_folder: dict[Written, tuple[str, ...]] = {}  # by statement, what it means there

    def imported(self, path: str) -> tuple[str, ...]:
        """Return the files of the project that the file at `path` imports, each once."""
        if path not in self.known:
            self.learn(path, statements(self._text(path)))
        return self.known[path]

    def learn(self, path: str, written: Iterable[Written]) -> None:
        """Take the import statements of the file at `path` from who has read it."""
        rows = list(written)
        self._files.learn_added(path, rows)
        self.known[path] = self._meant(path, rows)

    def reached(self, *paths: str) -> set[str]:
        """Return the files and all that they import, directly or not."""
        return set(reachable(paths, self.imported))

    def filled(self, path: str) -> tuple[str, ...]:
        """Return the files that the file at `path` imports to call something of them at once."""
        if path not in self._filled:
            data = self._text(path)
            names = {name for pair in re.findall(_AT_IMPORT, data) for name in pair if name}
            pattern = re.compile(rb"\b(?:%s)\b" % b"|".join(sorted(names)))
            written = statements(data) if names else ()
            named = [statement for statement in written if pattern.search(statement[1])]
            self._filled[path] = self._meant(path, named)
        return self._filled[path]

    def _text(self, path: str) -> bytes:
        data = self._files.data(path)
        if not path.endswith(NOTEBOOK):
            return data
        from tpulint.notebook import python_cells

        return python_cells(data) or b""

    def _meant(self, path: str, every: Iterable[Written]) -> tuple[str, ...]:
        """Return the files of statements: in all modules of a folder one means the same."""
        folder = os.path.dirname(path)
        if folder != self._folder:
            self._folder, self._in_folder = folder, {}
        paths: dict[str, None] = {}
        in_folder = {} if self._files.added_roots(path) else self._in_folder
        for statement in every:
            if statement not in in_folder:
                files = (self._files_of(path, name) for name in imported_names(*statement))
                in_folder[statement] = tuple(chain.from_iterable(files))
            paths.update(dict.fromkeys(in_folder[statement]))
        return tuple(paths)

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
    by_import: dict[str, list[str]] = {}
    for path in reachable(files, graph.imported):
        for imported in graph.imported(path):
            by_import.setdefault(imported, []).append(path)
    return by_import


class Connected(NamedTuple):
    """Files that imports bind together: the `seeds` among them, and `all` that these reach.

    callers: those that reach a seed by their imports, and are none.
    """

    seeds: list[str]
    all: set[str]
    callers: list[str]


def above(
    ways: Mapping[str, Sequence[str]], seeds: Collection[str], files: Sequence[str]
) -> set[str]:
    """Return those of `files` that reach a seed by their imports, `ways`, and are none."""
    within = set(files).difference(seeds)
    reached = reachable(seeds, lambda path: within.intersection(ways.get(path, ())))
    return within.intersection(reached)


def connected(
    graph: ImportGraph,
    seeds: Collection[str],
    bound: Iterable[list[str]] = (),
    callers: Collection[str] = (),
) -> list[Connected]:
    """Return the seeds in groups: two are of one where they reach a common file, directly or not.

    Seeds that are `bound` are of one group, too, and those that one of the `callers` reaches.
    Groups, and the seeds of each, are in alphabetical order.
    """
    owner: dict[str, str] = {}  # of each file reached, the seed that reached it first
    parent: dict[str, str] = {}

    def group_of(seed: str) -> str:
        while parent[seed] != seed:
            parent[seed] = parent[parent[seed]]
            seed = parent[seed]
        return seed

    for seed in sorted({*callers, *seeds}):
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
