"""`--shard K/N`: the K-th of N parts of the files, for the machines that share one run.

The files that one program is made of are of one shard, so that what all shards find is what one run
finds. Every machine divides the same files alike: by the sizes of the programs, the largest first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from tpulint.analysis.file_facts import by_home, names_estimators
from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.files import Files
from tpulint.analysis.resolver.import_graph import ImportGraph, connected
from tpulint.disk import Disk, read_regular
from tpulint.frontends.tensorflow.prefilter import passes
from tpulint.knowledge.seam import INSTALLED


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
