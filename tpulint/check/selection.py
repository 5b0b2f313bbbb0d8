"""The part of the files that a run reports on: `--changed-since`, `--staged` and `--shard`.

git says what has changed: since a revision, or among what is staged for a commit.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tpulint.absint.resolver.import_graph import Files, ImportGraph, above, connected, importers
from tpulint.check.discover import SUFFIXES, Task
from tpulint.config import ConfigError
from tpulint.config.files import FILES as CONFIGURATIONS
from tpulint.disk import README_FILES, REQUIREMENT_FILES, Disk
from tpulint.file_facts import by_home
from tpulint.frontends import installed, is_of_home, is_start
from tpulint.frontends.settings import Settings
from tpulint.ordering import reachable


class Changes(NamedTuple):
    """The absolute paths that were changed, added or removed; None where all files count.

    `contents` are the bytes of files to read in place of those on the disk; `untracked` are files
    to leave out, and folders, which end in a separator.
    """

    paths: frozenset[str] | None
    contents: Mapping[str, bytes] = MappingProxyType({})
    untracked: frozenset[str] = frozenset()

    def leave_out(self, path: str) -> bool:
        """Return whether a file is not tracked and to be left out."""
        folders = tuple(name for name in self.untracked if name.endswith(os.sep))
        return path in self.untracked or path.startswith(folders)


class Repository:
    """The git repository around a folder; `option` is what the user asked with."""

    def __init__(self, folder: str, option: str) -> None:
        self._option = option
        self._folder = folder
        self._top = os.path.realpath(self.git("rev-parse", "--show-toplevel").removesuffix("\n"))
        self._folder = self._top

    def since(self, revision: str) -> Changes:
        """Return what was changed since the history left `revision`, committed or not."""
        self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        listed = self._names("diff", "--name-only", "--no-renames", "-z", self._base(revision))
        return Changes(listed | self._untracked())

    def staged(self, environment: Mapping[str, str]) -> Changes:
        """Return what is staged, or what the environment says pre-commit was asked about.

        Files are read as they are staged. No commit holds the untracked ones.
        """
        untracked = self._untracked()
        unstaged = sorted(self._names("diff", "--name-only", "-z"))
        revision = environment.get("PRE_COMMIT_FROM_REF")
        if revision is None and self._is_run_on_all_files(environment, bool(unstaged)):
            return Changes(None, untracked=untracked)
        base = self._head() if revision is None else self._base(revision)
        paths = self._staged_since(base) if base else None
        contents = {path: self._content(path) for path in unstaged if path.endswith(SUFFIXES)}
        return Changes(paths, contents, untracked)

    def _is_run_on_all_files(self, environment: Mapping[str, str], has_unstaged: bool) -> bool:
        """Return whether pre-commit runs on all files, which it does not say itself.

        For a commit git names its index. By hand, pre-commit puts unstaged changes aside unless
        it runs on named files or all files; without staged changes only these are left.
        """
        if not environment.get("PRE_COMMIT") or "GIT_INDEX_FILE" in environment:
            return False
        head = self._head()
        return has_unstaged or (head is not None and not self._staged_since(head))

    def _head(self) -> str | None:
        """Return the commit that the next one follows; before the first there is none."""
        try:
            return self.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()
        except ConfigError:
            return None

    def _base(self, revision: str) -> str:
        try:
            return self.git("merge-base", "--", revision, "HEAD").strip()
        except ConfigError:  # no common history, as in a shallow clone
            return revision

    def _staged_since(self, commit: str) -> frozenset[str]:
        return self._names("diff", "--cached", "--name-only", "--no-renames", "-z", commit)

    def _untracked(self) -> frozenset[str]:
        return self._names("ls-files", "--others", "--exclude-standard", "-z")

    def _names(self, *arguments: str) -> frozenset[str]:
        listed = self.git(*arguments, "--")
        return frozenset(os.path.join(self._top, name) for name in listed.split("\0") if name)

    def _content(self, path: str) -> bytes:
        """Return the bytes that are staged, as git would write them to the disk."""
        name = os.path.relpath(path, self._top).replace(os.sep, "/")
        return self._run("cat-file", "--filters", f":{name}")

    def git(self, *arguments: str) -> str:
        return os.fsdecode(self._run(*arguments))

    def _run(self, *arguments: str) -> bytes:
        """Return the output of git. Raises ConfigError where it fails."""
        import subprocess

        environment = dict(os.environ)
        if "GIT_INDEX_FILE" in environment:  # a hook's may begin in its own folder
            environment["GIT_INDEX_FILE"] = os.path.abspath(environment["GIT_INDEX_FILE"])
        command = ["git", "-C", self._folder, *arguments]
        try:
            done = subprocess.run(command, capture_output=True, check=False, env=environment)
        except OSError as error:
            raise ConfigError(f"{self._option}: cannot run git: {error.strerror}") from None
        if done.returncode:
            output = os.fsdecode(done.stderr).strip().removeprefix("fatal: ").split("\n")[0]
            named = arguments[-1].removesuffix("^{commit}")
            raise ConfigError(f"{self._option}: {output or f'unknown revision: {named}'}")
        return done.stdout


# `--changed-since REV` and `--staged`: the files whose findings a change can affect.
#
# A change affects the files that import the changed ones, at any distance, and whatever any of
# these import: a finding is reported where the fault is, and what leads there may have changed.
# The change counts from where the history left REV, and with what is not committed yet.


def affected(changes: Changes, by_path: dict[str, str]) -> frozenset[str]:
    """Return the files whose findings the changes can affect."""
    changed = changes.paths
    if changed is None:
        return frozenset(by_path.values())
    names = {os.path.basename(path) for path in changed}
    if any(name in CONFIGURATIONS or REQUIREMENT_FILES.fullmatch(name) for name in names):
        return frozenset(by_path.values())
    modules = {path for path in changed if path.endswith(SUFFIXES)}
    reached = transitive_dependents(modules, by_path, changes.contents)
    described = tuple(f"{os.path.dirname(path)}{os.sep}" for path in changed if _is_read(path))
    reached |= {path for path in by_path if path.startswith(described)}
    return frozenset(name for path, name in by_path.items() if path in reached)


def _is_read(path: str) -> bool:
    """Return whether this is a README, and no requirement file beside it counts in its place."""
    folder, name = os.path.split(path)
    if README_FILES.fullmatch(name) is None:
        return False
    beside = os.listdir(folder) if os.path.isdir(folder) else ()
    return not any(map(REQUIREMENT_FILES.fullmatch, beside))


def transitive_dependents(
    changed: set[str], paths: Iterable[str], contents: Mapping[str, bytes]
) -> set[str]:
    """Return the changed files, what imports them, and what any of these import."""
    gone = {path: b"" for path in changed if not os.path.exists(path)}
    files = Files(Disk({**gone, **contents}), installed=installed())
    graph = ImportGraph(files)
    importers: defaultdict[str, list[str]] = defaultdict(list)
    everywhere = {*paths, *changed}
    for path in everywhere:
        for imported in graph.imported(path):
            importers[os.path.realpath(imported)].append(path)
    of_homes = [path for path in everywhere if is_of_home(files.data(path))]
    for home in by_home(of_homes, files.disk):
        for path in home:  # a program need not import all of its files
            importers[path] += home
    above = set(reachable(changed, lambda path: importers.get(path, ())))
    return above.union(*(map(os.path.realpath, graph.reached(path)) for path in above))


def affected_part(task: Task) -> Task:
    """Return the task without the files that no change can affect: since a revision, or staged.

    With --staged, all files are as staged. Raises ConfigError where git cannot say what changed.
    """
    by_path = {os.path.realpath(name): name for name in task.filenames + task.context}
    if not by_path:
        return task
    folder = os.path.commonpath(list(map(os.path.dirname, by_path)))
    revision = task.request.changed_since
    if revision is not None:
        changes = Repository(folder, "--changed-since").since(revision)
    else:
        changes = Repository(folder, "--staged").staged(os.environ)
    left_out = {name: b"" for path, name in by_path.items() if changes.leave_out(path)}
    contents = {by_path.get(path, path): data for path, data in changes.contents.items()}
    tracked = task._replace(
        filenames=tuple(name for name in task.filenames if name not in left_out),
        context=tuple(name for name in task.context if name not in left_out),
        contents={**contents, **left_out},
    )
    by_path = {path: name for path, name in by_path.items() if name not in left_out}
    part = tracked.only(affected(changes, by_path))
    return part.noting(f"{len(part.filenames)} of {len(tracked.filenames)} files can be affected")


# `--shard K/N`: the K-th of N parts of the files, for the machines that share one run.
#
# The files that one program is made of are of one shard, so that what all shards find is what one
# run finds. Every machine divides the same files alike: by the sizes of the programs, the largest
# first.


def shard(
    number: int, count: int, filenames: Sequence[str], settings: Iterable[Settings]
) -> frozenset[str]:
    """Return those of `filenames` that are in the shard `number`, from 1 to `count`."""
    by_path = {os.path.abspath(name): name for name in filenames}
    shards = balance(groups(by_path, settings), count)
    return frozenset(by_path[path] for path in shards[number - 1])


def groups(by_path: dict[str, str], settings: Iterable[Settings]) -> list[list[str]]:
    """Return the paths of each program, and those that are of none one by one.

    What names the TPU API under any of the settings counts: a program is never divided.
    """
    wrappers = [setting.boundary_names for setting in settings]
    disk = Disk()
    files = sorted(by_path)
    seeds: set[str] = set()
    of_homes: list[str] = []
    for path in files:
        with contextlib.suppress(OSError):
            data = disk.read(path)
            if any(is_start(data, names) for names in wrappers):
                seeds.add(path)
                if is_of_home(data):
                    of_homes.append(path)
    homes = by_home(of_homes, disk)
    graph = ImportGraph(Files(disk, installed=installed()))
    callers = above(importers(graph, files), seeds, files)
    programs = connected(graph, seeds, homes, callers)
    bound_together = [sorted(program.all & by_path.keys()) for program in programs]
    bound = {path for group in bound_together for path in group}
    return bound_together + [[path] for path in sorted(by_path.keys() - bound)]


def balance(file_groups: list[list[str]], count: int) -> list[list[str]]:
    """Return the paths of each shard; the next group goes to the shard with the fewest bytes."""
    shards: list[list[str]] = [[] for _ in range(count)]
    bytes_in = [0] * count
    sized = sorted((-sum(map(size, group)), group) for group in file_groups if group)
    for negative, group in sized:
        least = bytes_in.index(min(bytes_in))
        shards[least] += group
        bytes_in[least] -= negative
    return shards


def size(path: str) -> int:
    """Return the bytes of a file; of one that cannot be read, none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def in_shard(which: tuple[int, int], task: Task) -> Task:
    number, count = which
    whole = sorted(task.filenames + task.context)
    part = task.only(shard(number, count, whole, task.request.every_setting(whole)))
    files = f"{len(part.filenames)} of {len(task.filenames)} files"
    return part.noting(f"shard {number} of {count}: {files}")
