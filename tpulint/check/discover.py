"""From the paths of the command line to the Python files below them, in a fixed order.

As ruff does it: what .gitignore ignores and what the closest configuration excludes is left
out, named files are always taken (unless `force_exclude`), a named directory is walked although
git ignores it, symbolic links to directories are not followed, and a directory that cannot be
read costs one message, not the run.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tpulint import disk
from tpulint.check.progress import Progress
from tpulint.check.request import STDIN, Request, project_of
from tpulint.config.files import Closest
from tpulint.incremental.model import FileFailure

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


SUFFIXES = (".py", ".pyi", ".ipynb")


class Discovery(NamedTuple):
    """`filenames` as they are shown: relative below the working directory, else absolute.

    `named` are those of them that the caller named one by one; `unread` are paths that do
    not exist and directories that cannot be read.
    """

    filenames: tuple[str, ...]
    named: frozenset[str]
    unread: tuple[FileFailure, ...]


def discover(paths: Sequence[str], *, closest: Closest, force_exclude: bool) -> Discovery:
    """Return the Python files of `paths`; `closest` knows what each directory excludes."""
    files: set[str] = set()
    named: set[str] = set()
    unread: dict[str, str] = {}
    for path in paths:
        full = os.path.abspath(path)
        if force_exclude and closest.excludes(full):
            continue
        if os.path.isdir(full):
            files.update(walk(full, closest, unread))
        elif not os.path.lexists(full):
            unread[path] = "no such file or directory"
        elif (reason := unreadable(full)) is not None:
            unread[path] = reason
        else:
            files.add(full)
            named.add(full)
    here = os.path.join(os.getcwd(), "")
    return Discovery(
        tuple(below(path, here) for path in sorted(files)),
        frozenset(below(path, here) for path in named),
        tuple(FileFailure(below(path, here), why) for path, why in unread.items()),
    )


def unreadable(path: str) -> str | None:
    """Return why a named file cannot be read for what it is; None if nothing speaks against it."""
    try:
        disk.require_readable(path)
    except (disk.NotRegularFileError, disk.TooLargeFileError) as error:
        return f"cannot be read: {error.strerror}"
    except OSError:
        return None  # reading it will tell
    return None


def shown(path: str) -> str:
    """Return the path as findings show it: relative below the working directory, else absolute."""
    return below(os.path.abspath(path), os.path.join(os.getcwd(), ""))


def below(path: str, here: str) -> str:
    return path[len(here) :] if path.startswith(here) else path


class IgnoreFile(NamedTuple):
    """The ignore file of `directory`, and those of the directories above it."""

    directory: str
    spec: GitIgnoreSpec
    above: IgnoreFile | None


def walk(top: str, closest: Closest, unread: dict[str, str]) -> list[str]:
    """Return the Python files below the absolute `top`; add to `unread` what cannot be read."""
    files: list[str] = []
    above = ignores_above(top)
    if ignored(above, f"{top}/"):
        above = None
    waiting: list[tuple[str, IgnoreFile | None]] = [(top, above)]
    while waiting:
        directory, ignores = waiting.pop()
        try:
            with os.scandir(directory) as scan:
                entries = list(scan)
        except OSError as error:
            unread[directory] = f"cannot read the directory: {error.strerror or error}"
            continue
        patterns = closest.patterns(directory)
        if any(entry.name == ".gitignore" for entry in entries):
            ignores = with_ignore_file(directory, ".gitignore", ignores)
        for entry in entries:
            name = entry.name
            is_directory = entry.is_dir(follow_symlinks=False)
            if not is_directory and not (name.endswith(SUFFIXES) and is_regular(entry)):
                continue
            path = entry.path
            if patterns.fit(path, name) or ignored(ignores, f"{path}/" if is_directory else path):
                continue
            if is_directory:
                waiting.append((path, ignores))
            else:
                files.append(path)
    return files


def ignored(ignores: IgnoreFile | None, path: str) -> bool:
    """Return whether `path` (a directory ends in "/") is ignored; the nearest file decides."""
    while ignores is not None:
        is_included = ignores.spec.check_file(path[len(ignores.directory) + 1 :]).include
        if is_included is not None:
            return is_included
        ignores = ignores.above
    return False


def is_regular(entry: os.DirEntry[str]) -> bool:
    """Return whether the entry can be read; a link that leads to itself or nowhere cannot."""
    with contextlib.suppress(OSError):
        if entry.is_file():
            return True
        disk.require_readable(entry.path)  # notes what a device or a FIFO is
    return False


def ignores_above(directory: str) -> IgnoreFile | None:
    """Return the ignore files between the top of the git repository, if any, and `directory`."""
    chain = [directory]
    while not os.path.exists(os.path.join(chain[-1], ".git")):
        above = os.path.dirname(chain[-1])
        if above == chain[-1]:
            return None
        chain.append(above)
    ignores = with_ignore_file(chain[-1], os.path.join(".git", "info", "exclude"), None)
    for level in reversed(chain[1:]):
        ignores = with_ignore_file(level, ".gitignore", ignores)
    return ignores


def with_ignore_file(directory: str, name: str, above: IgnoreFile | None) -> IgnoreFile | None:
    """Return `above`, preceded by the ignore file `name` of a directory, if it can be read."""
    try:
        data = disk.read_regular(os.path.join(directory, name), disk.CONFIGURATION_LIMIT_BYTES)
    except OSError:
        return above
    lines = data.decode("utf-8", errors="replace").splitlines()
    return IgnoreFile(directory, _specified(lines), above)


def _specified(lines: list[str]) -> GitIgnoreSpec:
    """Return what the lines ignore; git passes over what is no pattern, such as a lone `!`."""
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        if len(lines) == 1:
            return GitIgnoreSpec([])
        middle = len(lines) // 2
        return _specified(lines[:middle]) + _specified(lines[middle:])


# The files of a check: those to report on, and the project around them.

NO_FILES = "no Python files found under the given path(s)"


class Task(NamedTuple):
    """The files of a check, once discovered.

    partial: those of which no more is known than what they import: who calls them is not.
    context: files that are analyzed with the others but not reported on. contents: the bytes of
    files, by name, that are not read from the disk. failures: paths that
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
    contents: Mapping[str, bytes] = MappingProxyType({})

    def only(self, filenames: frozenset[str]) -> Task:
        """Return the task that reports on these of its files alone; the others are context."""
        own = tuple(name for name in self.filenames if name in filenames)
        context = {*self.filenames, *self.context}.difference(own)
        return self._replace(filenames=own, context=tuple(sorted(context)))

    def passing_over(self, files: Iterable[disk.PassedOver]) -> Task:
        """Return the task with lines about files that were passed over."""
        refused = {failure.path for failure in self.failures}
        large, special = lines_about(file for file in files if shown(file.path) not in refused)
        return self._replace(warnings=(*self.warnings, *large), notes=(*self.notes, *special))

    def noting(self, note: str) -> Task:
        """Return the task with one more line for a verbose check."""
        return self._replace(notes=(*self.notes, note))


def lines_about(files: Iterable[disk.PassedOver]) -> tuple[list[str], list[str]]:
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
    project_task = discover([project], closest=request.config_resolver(), force_exclude=False)
    own = frozenset(filenames)
    context = tuple(name for name in project_task.filenames if name not in own)
    return Task(request, filenames, context=context)
