"""`--changed-since REV`: the files whose findings a change can affect.

A change affects the files that import the changed ones, at any distance, and whatever any of
these import: a finding is reported where the fault is, and what leads there may have changed. The
change counts from where the history left REV, and with what is not committed yet.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence

from tpulint.analysis.names.target_release import FILES as REQUIREMENTS
from tpulint.analysis.names.target_release import README
from tpulint.analysis.resolver.files import Files
from tpulint.analysis.resolver.import_graph import ImportGraph
from tpulint.config import ConfigError
from tpulint.config.files import FILES as CONFIGURATIONS
from tpulint.disk import Disk
from tpulint.knowledge.seam import INSTALLED
from tpulint.pipeline.discover import SUFFIXES


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
    command = ["git", "-C", folder, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise ConfigError(f"--changed-since: cannot run git: {error.strerror}") from None
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().removeprefix("fatal: ").split("\n")[0]
        raise ConfigError(f"--changed-since: {said or 'unknown revision'}")
    return os.fsdecode(done.stdout)
