"""The part of the files that a run reports on: `--changed-since`, `--staged` and `--shard`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from tpulint.absint.resolver.files import Files
from tpulint.absint.resolver.import_graph import ImportGraph, connected
from tpulint.check.changes import Changes, Repository
from tpulint.check.discover import SUFFIXES, Task
from tpulint.config.files import FILES as CONFIGURATIONS
from tpulint.disk import Disk, read_regular
from tpulint.frontends.tensorflow.file_facts import by_home, names_estimators
from tpulint.frontends.tensorflow.knowledge.seam import INSTALLED
from tpulint.frontends.tensorflow.names.target_release import FILES as REQUIREMENTS
from tpulint.frontends.tensorflow.names.target_release import README
from tpulint.frontends.tensorflow.prefilter import passes
from tpulint.frontends.tensorflow.settings import Settings

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
    if any(name in CONFIGURATIONS or REQUIREMENTS.fullmatch(name) for name in names):
        return frozenset(by_path.values())
    modules = {path for path in changed if path.endswith(SUFFIXES)}
    reached = transitive_dependents(modules, by_path, changes.contents)
    described = tuple(f"{os.path.dirname(path)}{os.sep}" for path in changed if _is_read(path))
    reached |= {path for path in by_path if path.startswith(described)}
    return frozenset(name for path, name in by_path.items() if path in reached)


def _is_read(path: str) -> bool:
    """Return whether this is a README, and no requirement file beside it counts in its place."""
    folder, name = os.path.split(path)
    if README.fullmatch(name) is None:
        return False
    return not any(map(REQUIREMENTS.fullmatch, os.listdir(folder) if os.path.isdir(folder) else ()))


def transitive_dependents(
    changed: set[str], paths: Iterable[str], contents: Mapping[str, bytes]
) -> set[str]:
    """Return the changed files, what imports them, and what any of these import."""
    gone = {path: b"" for path in changed if not os.path.exists(path)}
    files = Files(Disk({**gone, **contents}), installed=INSTALLED)
    graph = ImportGraph(files)
    importers: dict[str, list[str]] = {}
    everywhere = {*paths, *changed}
    for path in everywhere:
        for imported in graph.imported(path):
            importers.setdefault(os.path.realpath(imported), []).append(path)
    estimators = [path for path in everywhere if names_estimators(files.data(path))]
    for home in by_home(estimators, files.disk):
        for path in home:  # a program need not import the file of its model_fn
            importers.setdefault(path, []).extend(home)
    above = set(changed)
    waiting = list(changed)
    while waiting:
        new = [path for path in importers.get(waiting.pop(), ()) if path not in above]
        above.update(new)
        waiting += new
    return above.union(*(map(os.path.realpath, graph.reached(path)) for path in above))


def changed_since(revision: str, task: Task) -> Task:
    """Return the task without the files that no change since `revision` can affect.

    Raises ConfigError where git cannot say what changed.
    """
    by_path = {os.path.realpath(name): name for name in task.filenames + task.context}
    if not by_path:
        return task
    changes = Repository(folder_of(by_path), "--changed-since").since(revision)
    return only_affected(changes, by_path, task)


def staged(task: Task) -> Task:
    """Return the task without the files that nothing staged can affect; all are as staged.

    Raises ConfigError where git cannot say what is staged.
    """
    by_path = {os.path.realpath(name): name for name in task.filenames + task.context}
    if not by_path:
        return task
    changes = Repository(folder_of(by_path), "--staged").staged(os.environ)
    left_out = {name: b"" for path, name in by_path.items() if changes.leave_out(path)}
    contents = {by_path.get(path, path): data for path, data in changes.contents.items()}
    tracked = task._replace(
        filenames=tuple(name for name in task.filenames if name not in left_out),
        context=tuple(name for name in task.context if name not in left_out),
        contents={**contents, **left_out},
    )
    by_path = {path: name for path, name in by_path.items() if name not in left_out}
    return only_affected(changes, by_path, tracked)


def folder_of(paths: Iterable[str]) -> str:
    return os.path.commonpath(list(map(os.path.dirname, paths)))


def only_affected(changes: Changes, by_path: dict[str, str], task: Task) -> Task:
    part = task.only(affected(changes, by_path))
    return part.noting(f"{len(part.filenames)} of {len(task.filenames)} files can be affected")


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

    What shows the seam under any of the settings counts: a program is never divided.
    """
    wrappers = [setting.seam_names for setting in settings]
    seeds = {path for path in by_path if shows_seam(path, wrappers)}
    disk = Disk()
    estimators = [path for path in sorted(seeds) if names_estimators(disk.read(path))]
    homes = by_home(estimators, disk)
    graph = ImportGraph(Files(disk, installed=INSTALLED))
    programs = connected(graph, seeds, homes, sorted(by_path))
    bound_together = [sorted(program.all & by_path.keys()) for program in programs]
    bound = {path for group in bound_together for path in group}
    return bound_together + [[path] for path in sorted(by_path.keys() - bound)]


def shows_seam(path: str, wrappers: Iterable[tuple[str, ...]]) -> bool:
    """Return whether the bytes of the file show the seam under any of the settings."""
    try:
        data = read_regular(path)
    except OSError:
        return False
    return any(passes(data, names) for names in wrappers)


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
    """Return the task with the files of one shard."""
    number, count = which
    whole = sorted(task.filenames + task.context)
    part = task.only(shard(number, count, whole, task.request.every_setting(whole)))
    files = f"{len(part.filenames)} of {len(task.filenames)} files"
    return part.noting(f"shard {number} of {count}: {files}")
