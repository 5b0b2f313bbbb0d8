"""The part of the files that a run reports on: `--changed-since` and `--shard`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from tpulint.absint.resolver.files import Files
from tpulint.absint.resolver.import_graph import ImportGraph, connected
from tpulint.check.discover import SUFFIXES, Task
from tpulint.config import ConfigError
from tpulint.config.files import FILES as CONFIGURATIONS
from tpulint.disk import Disk, read_regular
from tpulint.frontends.tensorflow.file_facts import by_home, names_estimators
from tpulint.frontends.tensorflow.knowledge.seam import INSTALLED
from tpulint.frontends.tensorflow.names.target_release import FILES as REQUIREMENTS
from tpulint.frontends.tensorflow.names.target_release import README
from tpulint.frontends.tensorflow.prefilter import passes
from tpulint.frontends.tensorflow.settings import Settings

# `--changed-since REV`: the files whose findings a change can affect.
#
# A change affects the files that import the changed ones, at any distance, and whatever any of
# these import: a finding is reported where the fault is, and what leads there may have changed.
# The change counts from where the history left REV, and with what is not committed yet.


def affected(revision: str, filenames: Sequence[str]) -> frozenset[str]:
    """Return the files among `filenames` whose findings the changes since `revision` can affect.

    Raises ConfigError where git cannot say what changed.
    """
    if not filenames:
        return frozenset()
    by_path = {os.path.realpath(name): name for name in filenames}
    changed = changed_files(revision, os.path.commonpath(map(os.path.dirname, by_path)))
    names = {os.path.basename(path) for path in changed}
    if any(name in CONFIGURATIONS or REQUIREMENTS.fullmatch(name) for name in names):
        return frozenset(filenames)
    modules = {path for path in changed if path.endswith(SUFFIXES)}
    reached = transitive_dependents(modules, by_path)
    described = tuple(f"{os.path.dirname(path)}{os.sep}" for path in changed if _is_read(path))
    reached |= {path for path in by_path if path.startswith(described)}
    return frozenset(name for path, name in by_path.items() if path in reached)


def _is_read(path: str) -> bool:
    """Return whether this is a README, and no requirement file beside it counts in its place."""
    folder, name = os.path.split(path)
    if README.fullmatch(name) is None:
        return False
    return not any(map(REQUIREMENTS.fullmatch, os.listdir(folder) if os.path.isdir(folder) else ()))


def transitive_dependents(changed: set[str], paths: Iterable[str]) -> set[str]:
    """Return the changed files, what imports them, and what any of these import."""
    gone = {path: b"" for path in changed if not os.path.exists(path)}
    graph = ImportGraph(Files(Disk(gone), installed=INSTALLED))
    importers: dict[str, list[str]] = {}
    for path in {*paths, *changed}:
        for imported in graph.imported(path):
            importers.setdefault(os.path.realpath(imported), []).append(path)
    above = set(changed)
    waiting = list(changed)
    while waiting:
        new = [path for path in importers.get(waiting.pop(), ()) if path not in above]
        above.update(new)
        waiting += new
    return above.union(*(map(os.path.realpath, graph.reached(path)) for path in above))


def changed_files(revision: str, folder: str) -> set[str]:
    """Return the absolute paths of what was changed, added or removed in `folder`'s repository."""
    top = os.path.realpath(git(folder, "rev-parse", "--show-toplevel").removesuffix("\n"))
    git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    try:
        base = git(folder, "merge-base", "--", revision, "HEAD").strip()
    except ConfigError:  # no common history, as in a shallow clone
        base = revision
    listed = git(top, "diff", "--name-only", "--no-renames", "-z", base, "--")
    listed += git(top, "ls-files", "--others", "--exclude-standard", "-z")
    return {os.path.join(top, name) for name in listed.split("\0") if name}


def git(folder: str, *arguments: str) -> str:
    """Return the output of git. Raises ConfigError where it fails."""
    import subprocess

    command = ["git", "-C", folder, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise ConfigError(f"--changed-since: cannot run git: {error.strerror}") from None
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().removeprefix("fatal: ").split("\n")[0]
        raise ConfigError(f"--changed-since: {said or 'unknown revision'}")
    return os.fsdecode(done.stdout)


def changed_since(revision: str, task: Task) -> Task:
    """Return the task without the files that no change since `revision` can affect."""
    part = task.only(affected(revision, sorted(task.filenames + task.context)))
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
    programs = connected(ImportGraph(Files(disk, installed=INSTALLED)), seeds, homes)
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
