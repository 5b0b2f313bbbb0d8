"""The files of a check: those to report on, and the project around them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tpulint.disk import PassedOver
from tpulint.incremental.failure import FileFailure
from tpulint.pipeline.discover import discover, shown
from tpulint.pipeline.progress import Progress
from tpulint.pipeline.project_root import project_of
from tpulint.pipeline.request import STDIN, Request

NO_FILES = "no Python files found under the given path(s)"


class Task(NamedTuple):
    """The files of a check, once discovered.

    partial: those of which no more is known than what they import: who calls them is not.
    context: files that are analyzed with the others but not reported on. failures: paths that
    do not exist or cannot be read. warnings, notes: lines for standard error.
    """

    request: Request
    filenames: tuple[str, ...]
    partial: frozenset[str] = frozenset()
    context: tuple[str, ...] = ()
    failures: tuple[FileFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    progress: Progress = Progress()

    def only(self, filenames: frozenset[str]) -> Task:
        """Return the task that reports on these of its files alone; the others are context."""
        whole = sorted(self.filenames + self.context)
        asked = tuple(name for name in self.filenames if name in filenames)
        context = tuple(name for name in whole if name not in frozenset(asked))
        return self._replace(filenames=asked, context=context)

    def passing_over(self, files: Iterable[PassedOver]) -> Task:
        """Return the task with lines about files that were passed over."""
        refused = {failure.path for failure in self.failures}
        large, special = lines_about(file for file in files if shown(file.path) not in refused)
        return self._replace(
            warnings=(*self.warnings, *large),
            notes=(*self.notes, *special),
        )

    def noting(self, note: str) -> Task:
        """Return the task with one more line for a verbose check."""
        return self._replace(notes=(*self.notes, note))


def lines_about(files: Iterable[PassedOver]) -> tuple[list[str], list[str]]:
    """Return a line for each file that was passed over: warnings, and lines of a verbose check."""
    by_line = {f"{shown(file.path)}: passed over: {file.reason}": file for file in files}
    large = [line for line, file in by_line.items() if file.is_too_large]
    return large, [line for line in by_line if line not in large]


def find_files(request: Request, progress: Progress) -> Task:
    """Find the files of the request, and the project around them."""
    closest = request.config_resolver()
    if request.stdin is not None:
        path = os.path.abspath(request.stdin_filename)
        wanted = not request.force_exclude or not closest.excludes(path)
        filenames = (request.stdin_filename,) if wanted else ()
        task = in_project(request, filenames, filenames, frozenset(filenames))
    else:
        progress.step("looking for files")
        discovery = discover(request.paths, closest=closest, force_exclude=request.force_exclude)
        task = in_project(request, request.paths, discovery.filenames, discovery.named)
        task = task._replace(failures=discovery.unread)
    if not task.filenames and not task.failures:
        task = task._replace(warnings=(NO_FILES,))
    return task._replace(progress=progress, warnings=(*request.warnings, *task.warnings))


def changed_since(revision: str, task: Task) -> Task:
    """Return the task without the files that no change since `revision` can affect."""
    from tpulint.pipeline.changed import affected

    part = task.only(affected(revision, sorted(task.filenames + task.context)))
    return part.noting(f"{len(part.filenames)} of {len(task.filenames)} files can be affected")


def in_shard(which: tuple[int, int], task: Task) -> Task:
    """Return the task with the files of one shard."""
    from tpulint.pipeline.shard import shard

    number, count = which
    whole = sorted(task.filenames + task.context)
    part = task.only(shard(number, count, whole, task.request.every_setting(whole)))
    files = f"{len(part.filenames)} of {len(task.filenames)} files"
    return part.noting(f"shard {number} of {count}: {files}")


def in_project(
    request: Request, paths: Sequence[str], filenames: tuple[str, ...], named: frozenset[str]
) -> Task:
    """Return the task; files come with the project around `paths`, which holds their callers."""
    around = [os.path.abspath(path) for path in paths if path != STDIN]
    project = project_of(os.path.commonpath(around)) if around and filenames else None
    if project is None:
        return Task(request, filenames, named)
    if project in around:
        return Task(request, filenames)
    whole = discover([project], closest=request.config_resolver(), force_exclude=False)
    asked = frozenset(filenames)
    context = tuple(name for name in whole.filenames if name not in asked)
    return Task(request, filenames, context=context)
