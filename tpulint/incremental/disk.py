"""A disk that records what was asked of it, and one that can tell whether it answers as before."""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from tpulint.absint.resolver.import_graph import PROJECT_FILES
from tpulint.disk import (
    CHILD_FOLDERS,
    MODULES,
    README_FILES,
    REQUIREMENT_FILES,
    REQUIREMENTS,
    Disk,
    may_be_folder,
    read_regular,
)

UNREADABLE = ""  # the digest of what is no file, or cannot be read
DIGEST_CHARACTERS = 32
CLOCK_LAG_NS = 10_000_000  # how far the times of files may lag behind the clock


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGEST_CHARACTERS]


@functools.lru_cache(maxsize=1 << 14)  # most folders have names that others have
def _may_be_imported(name: str) -> bool:
    """Return whether an import can mean a name, or it says what a project is; no cache does."""
    return name in PROJECT_FILES or (
        name.removesuffix(".py").isidentifier() and name != "__pycache__"
    )


@functools.lru_cache(maxsize=1 << 14)
def states_requirements(name: str) -> bool:
    """Return whether a file of this name may say for which releases its project is."""
    return REQUIREMENT_FILES.fullmatch(name) is not None or README_FILES.fullmatch(name) is not None


KINDS: Mapping[str, Callable[[str], bool]] = {
    MODULES: _may_be_imported,
    REQUIREMENTS: states_requirements,
    CHILD_FOLDERS: may_be_folder,
}


class DiskDependencies:
    """Questions about the disk with their answers, all by absolute path.

    files: the digest of the content. present, absent: by folder, the names that it was asked for.
    listings: by kind and folder, its names of that kind. is_consistent: no file changed between
    two reads of it.
    """

    def __init__(
        self,
        files: dict[str, str] | None = None,
        present: dict[str, Collection[str]] | None = None,
        absent: dict[str, Collection[str]] | None = None,
        listings: dict[tuple[str, str], list[str]] | None = None,
        is_consistent: bool = True,
    ) -> None:
        self.files = {} if files is None else files
        self.present = {} if present is None else present
        self.absent = {} if absent is None else absent
        self.listings = {} if listings is None else listings
        self.is_consistent = is_consistent

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DiskDependencies) and vars(self) == vars(other)

    def names_alone(self) -> DiskDependencies:
        """Return the questions without those about the content of files."""
        return DiskDependencies({}, self.present, self.absent, self.listings, self.is_consistent)

    def add_file(self, path: str, digest: str) -> None:
        if self.files.setdefault(path, digest) != digest:
            self.is_consistent = False

    def update(self, other: DiskDependencies) -> None:
        """Add the questions of another computation."""
        for path, digest in other.files.items():
            self.add_file(path, digest)
        for mine, theirs in ((self.present, other.present), (self.absent, other.absent)):
            for folder, names in theirs.items():
                mine[folder] = {*mine.get(folder, ()), *names}
        self.listings.update(other.listings)
        self.is_consistent = self.is_consistent and other.is_consistent


class TrackedDisk(Disk):
    """Another disk, whose answers are recorded."""

    def __init__(self, disk: Disk) -> None:
        super().__init__()
        self._disk = disk
        self.dependencies = DiskDependencies()

    def take(self) -> DiskDependencies:
        """Return what was recorded since the last call."""
        taken, self.dependencies = self.dependencies, DiskDependencies()
        return taken

    def read(self, path: str, limit_bytes: int | None = None) -> bytes:
        try:
            data = self._disk.read(path, limit_bytes)
        except OSError:
            self.dependencies.add_file(path, UNREADABLE)
            raise
        self.dependencies.add_file(path, digest_of(data))
        return data

    def has(self, folder: str, name: str) -> bool:
        is_there = self._disk.has(folder, name)
        by_folder = self.dependencies.present if is_there else self.dependencies.absent
        names = by_folder.setdefault(folder, set())
        assert isinstance(names, set)
        names.add(name)
        return is_there

    def listing(self, folder: str, kind: str) -> frozenset[str]:
        names = self._disk.listing(folder, kind)
        self.dependencies.listings[kind, folder] = sorted(filter(KINDS[kind], names))
        return names


class FileState(NamedTuple):
    """The digest of a file, and the stamp that it had: if one is as it was, so is the other."""

    stamp: str
    digest: str


class CheckedDisk(Disk):
    """The disk of a check, which knows the digests of files that have not changed.

    known: the states of files that an earlier check left. new: those that this one has found.
    """

    def __init__(
        self,
        unsaved: Mapping[str, bytes] | None = None,
        known: Mapping[str, FileState] | None = None,
    ) -> None:
        super().__init__(unsaved)
        self.known: Mapping[str, FileState] = known or {}
        self.new: dict[str, FileState] = {}
        self._stamps: dict[str, str | None] = {}
        self._digests: dict[str, str] = {}
        self._started = time.time_ns() - CLOCK_LAG_NS

    def refresh(self) -> None:
        """Look at the disk again from now on."""
        self.keep_new()
        self._started = time.time_ns() - CLOCK_LAG_NS
        for answers in (self._stamps, self._digests, self._listings):
            answers.clear()

    def keep_new(self) -> None:
        """Take the new states for known ones, as they were written down."""
        if self.new:
            self.known = {**self.known, **self.new}
            self.new = {}

    def lay_over(self, unsaved: Mapping[str, bytes]) -> None:
        """Take these bytes, by absolute path, for those of unsaved files from now on."""
        before, self.unsaved = self.unsaved, dict(unsaved)
        for path in {*before, *unsaved}:
            self._digests.pop(path, None)
        if before.keys() != self.unsaved.keys():
            self._listings.clear()

    def stamp(self, path: str) -> str | None:
        if path not in self._stamps:
            self._stamps[path] = stamp(path)
        return self._stamps[path]

    def digest(self, path: str) -> str:
        """Return the digest of a file, which is read only where its stamp is new."""
        digest = self._digests.get(path)
        if digest is None:
            digest = self._digests[path] = self._digest(path)
        return digest

    def _digest(self, path: str) -> str:
        if path in self.unsaved:
            return digest_of(self.unsaved[path])
        # The stamp comes first: a change after it is one to the next check.
        seen = self.stamp(path)
        state = self.new.get(path) or self.known.get(path)
        if state is not None and state.stamp == seen:
            return state.digest
        try:
            digest = digest_of(read_regular(path))
        except OSError:
            return UNREADABLE
        self.learn({path: digest})
        return digest

    def learn(self, digests: Mapping[str, str]) -> None:
        """Keep digests of content that was read since this disk was made or refreshed.

        Where the file has changed since then, nobody can tell which content its stamp is of.
        """
        for path, digest in digests.items():
            if path in self.unsaved or digest == UNREADABLE:
                continue
            seen = self.stamp(path)
            # A stamp ends in two times, in nanoseconds: the later one is that of the last change.
            if seen is not None and max(map(int, seen.split(":")[2:])) < self._started:
                state = FileState(seen, digest)
                if self.known.get(path) != state:
                    self.new[path] = state

    def answers_as_before(self, before: DiskDependencies) -> bool:
        listing = self._listing
        return (
            all(listing(folder).issuperset(names) for folder, names in before.present.items())
            and all(listing(folder).isdisjoint(names) for folder, names in before.absent.items())
            and all(
                sorted(filter(KINDS[kind], listing(folder))) == names
                for (kind, folder), names in before.listings.items()
            )
            and all(self.digest(path) == digest for path, digest in before.files.items())
        )


def stamp(path: str) -> str | None:
    """Return the stamp of a file as it is now, None where there is none.

    An edit may keep the size and the time of a file, and a link may lead to another file that has
    the same. So a stamp holds the inode as well, and the time of its last change, which nobody can
    set.
    """
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return f"{seen.st_size}:{seen.st_ino}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"


# A part of the disk that travels with a program to another machine.


class NotInSnapshot(BaseException):
    """The snapshot does not hold `path`: the reading ends.

    It is no Exception, so that nothing which survives faults survives it.
    """

    def __init__(self, path: str, is_folder: bool) -> None:
        super().__init__(path, is_folder)
        self.path = path
        self.is_folder = is_folder


class DiskSnapshot(Disk):
    """The disk of another machine, as far as questions were about it; it does not guess the rest.

    files: their content (None: cannot be read), by absolute path. folders: the names in them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes | None] = {}
        self.folders: dict[str, frozenset[str]] = {}

    def add(self, disk: Disk, files: Iterable[str] = (), folders: Iterable[str] = ()) -> None:
        """Take in some files and folders of a disk."""
        for path in files:
            try:
                self.files[path] = disk.read(path)
            except OSError:
                self.files[path] = None
        for folder in folders:
            self.folders[folder] = disk.listing(folder, MODULES)

    def add_answers(self, disk: Disk, dependencies: DiskDependencies) -> None:
        """Take in the part of a disk that these questions were about."""
        folders = {*dependencies.present, *dependencies.absent}
        folders.update(folder for _, folder in dependencies.listings)
        self.add(disk, dependencies.files, folders)

    def read(self, path: str, limit_bytes: int | None = None) -> bytes:
        if path not in self.files:
            raise NotInSnapshot(path, is_folder=False)
        data = self.files[path]
        if data is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return data

    def _listing(self, folder: str) -> frozenset[str]:
        if folder not in self.folders:
            raise NotInSnapshot(folder, is_folder=True)
        return self.folders[folder]
