"""The values of an analysis: what is asked for, and what is found."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tpulint.codes import CODES
from tpulint.disk import Disk, PassedOver, absolute_paths
from tpulint.finding import Finding, UnfollowedCall
from tpulint.frontends.tensorflow.spelling_search import NamesInFile, Spelled
from tpulint.incremental.disk import DiskDependencies

if TYPE_CHECKING:
    from tpulint.absint.domain.program import ReadingFailure
    from tpulint.frontends.settings import Settings
    from tpulint.plugins import PluginFailure


# Failures: work that was asked for and not done, which ends a check with exit status 2.


class FileFailure(NamedTuple):
    """A path that does not exist, or a file or directory that cannot be read or written.

    Or an internal error, which costs the findings of the program that begins in the file.
    """

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class RuleFailure(NamedTuple):
    """An internal error that costs the findings of one rule in one program."""

    code: str
    error: str

    def __str__(self) -> str:
        plugin = CODES[self.code].plugin
        if plugin:
            return f"plug-in {plugin}: error in rule {self.code}: {self.error}"
        return f"internal error in rule {self.code}: {self.error}"


if TYPE_CHECKING:
    Failure = FileFailure | RuleFailure | ReadingFailure | PluginFailure


def describe(error: BaseException) -> str:
    """Return the error in one line, with the place in the code that a report needs."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{where}"


# What is asked for, and what is found.


class Batch(NamedTuple):
    """All files that are analyzed under the same settings.

    filenames: in one order, wherever the check was started. context: those among them of which
    nothing is reported. disk: what they are read from. checkpoint: called between rules; it raises
    to end the analysis.
    """

    filenames: tuple[str, ...]
    context: frozenset[str]
    disk: Disk
    codes: frozenset[str]
    settings: Settings
    checkpoint: Callable[[], None] | None = None


def sorted_files(filenames: Iterable[str], context: Collection[str]) -> tuple[str, ...]:
    """Return the files of a batch in the order in which they are analyzed."""
    names = (*filenames, *context)
    return tuple(name for _, name in sorted(zip(absolute_paths(names), names, strict=True)))


class FileFacts(NamedTuple):
    """What the bytes of one file say about it.

    imports: the hash of its import statements, "" where it has none. names_tpu: it names
    the TPU API. of_home: it does, and is of one program with such files of its package, though none
    imports the other. marked: it may hold suppressions. script: it is run as a program. placement:
    the certainty with which it turns soft placement on. names: those that some release lacks.
    frameworks: the initials of those that it imports.
    """

    imports: str = ""
    names_tpu: bool = False
    of_home: bool = False
    marked: bool = False
    script: bool = False
    placement: str | None = None
    names: NamesInFile = NamesInFile()
    frameworks: str = ""


class Job(NamedTuple):
    """One program: its seeds, and by path the certainty with which soft placement is on.

    size: the files that it reaches. callers: files that reach a seed by their imports, and show no
    sign of a TPU: they may call what the seeds define.
    """

    seeds: tuple[str, ...]
    placed: tuple[tuple[str, str], ...]
    size: int
    callers: tuple[str, ...] = ()


class Programs(NamedTuple):
    """The programs of a batch.

    marked: files that may hold suppressions. spelled: names that the releases of their files
    lack. passed_over: files that were not read for what they are. using: how many of the files to
    report on import a framework, by its initial.
    """

    jobs: tuple[Job, ...] = ()
    marked: tuple[str, ...] = ()
    spelled: tuple[Spelled, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    using: Mapping[str, int] = {}


class ProgramCoverage(NamedTuple):
    """A program that was read: the file that it begins in, and all files that were read.

    unreached: how many functions of them use TensorFlow, and nothing that was read calls them.
    """

    begins: str
    files: tuple[str, ...]
    unreached: int = 0


class Analysis(NamedTuple):
    """The findings of one program, or of several, before anything is suppressed or hidden.

    messages: for standard error, apart from the failures. notes: such lines of a verbose check.
    marked: files that may hold suppressions. skipped: functions that were not followed, by the
    reason. unfollowed: calls that were not followed although they may matter. passed_over:
    files that were not read for what they are. times: seconds by rule. dependencies: what the
    findings in one program depend on. programs: the TPU programs that were read. using: how many
    files import a framework, by its initial.
    """

    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    messages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    skipped: Mapping[str, int] = {}
    unfollowed: frozenset[UnfollowedCall] = frozenset()
    passed_over: tuple[PassedOver, ...] = ()
    times: Mapping[str, float] = {}
    dependencies: DiskDependencies | None = None
    programs: tuple[ProgramCoverage, ...] = ()
    using: Mapping[str, int] = {}


def merged(parts: Sequence[Analysis]) -> Analysis:
    skipped: Counter[str] = Counter()
    times: defaultdict[str, float] = defaultdict(float)
    for part in parts:
        skipped.update(part.skipped)
        for code, seconds in part.times.items():
            times[code] += seconds
    return Analysis(
        tuple(finding for part in parts for finding in part.findings),
        tuple(dict.fromkeys(failure for part in parts for failure in part.failures)),
        tuple(dict.fromkeys(message for part in parts for message in part.messages)),
        tuple(note for part in parts for note in part.notes),
        tuple(filename for part in parts for filename in part.marked),
        skipped,
        frozenset().union(*(part.unfollowed for part in parts)),
        tuple(dict.fromkeys(file for part in parts for file in part.passed_over)),
        times,
        programs=tuple(dict.fromkeys(program for part in parts for program in part.programs)),
        using=next((part.using for part in parts if part.using), {}),
    )
