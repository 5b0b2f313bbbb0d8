"""One program with all that its reading asks for, packed for another machine.

Names are absolute on the way: only where the run was started has anybody a working directory.
"""

from __future__ import annotations

import os
import pickle
import platform
import threading
import zlib
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

from tpulint import __version__, plugins
from tpulint.finding import Finding, Span
from tpulint.knowledge.seam import INSTALLED
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.executor import ProgramStep
from tpulint.pipeline.snapshot import (
    Answers,
    DiskSnapshot,
    NotInSnapshot,
    Question,
    RecordingDisk,
)
from tpulint.pipeline.version import package_hash

if TYPE_CHECKING:
    from tpulint.analysis.options import Settings


class Parcel(NamedTuple):
    """A program, the step that analyzes it, and the disk as far as it is read from there.

    filenames: the files of the batch that are in it.
    """

    step: ProgramStep
    job: Job
    filenames: tuple[str, ...]
    codes: frozenset[str]
    settings: Settings
    answers: Answers


class Analyzer(NamedTuple):
    """The versions that findings depend on, beside the files."""

    tpulint: str
    package: str
    python: str
    libcst: str
    plugins: plugins.PluginOptions


class OtherAnalyzer(NamedTuple):
    """The answer of a machine that has another analyzer than the sender."""

    analyzer: Analyzer


Answer = Analysis | Question | OtherAnalyzer
_alone = threading.Lock()  # the recursion limit is the whole process's


def this_analyzer() -> Analyzer:
    minor = ".".join(platform.python_version_tuple()[:2])
    options = plugins.active().options
    return Analyzer(__version__, package_hash(), minor, version("libcst"), options)


def recorded(batch: Batch, job: Job) -> RecordingDisk:
    """Return a disk that was asked for what, by its imports, the reading of a program asks."""
    from tpulint.analysis.estimator_homes import home_of
    from tpulint.analysis.names.target_release import Targets
    from tpulint.analysis.resolver.files import Files
    from tpulint.analysis.resolver.import_graph import ImportGraph

    disk = RecordingDisk()
    files = Files({}, disk, installed=INSTALLED)
    graph = ImportGraph(files)
    targets = Targets(batch.settings.target_tensorflow, disk)
    reached = [graph.reached(os.path.abspath(each)) for each in job.seeds]
    for path in sorted(set().union(*reached)):
        files.look_around(path)
        targets.of(path)
        home_of(path, disk)
    return disk


def packed(batch: Batch, job: Job, step: ProgramStep, answers: Answers) -> bytes:
    """Return the parcel of a program."""
    paths = map(os.path.abspath, batch.filenames)
    parcel = Parcel(
        step,
        job._replace(seeds=tuple(map(os.path.abspath, job.seeds))),
        tuple(each for each in paths if each in answers.files),
        batch.codes,
        batch.settings,
        answers,
    )
    return zlib.compress(pickle.dumps(parcel), 1)


def read_parcel(sender: Analyzer, data: bytes) -> Answer:
    """Analyze the program in a parcel; the answer may be what has to come with it.

    What another analyzer has packed is not even unpacked.
    """
    plugins.require(sender.plugins)
    mine = this_analyzer()
    if mine != sender:
        return OtherAnalyzer(mine)
    with _alone:
        parcel: Parcel = pickle.loads(zlib.decompress(data))
        names, disk = parcel.filenames, DiskSnapshot(parcel.answers)
        batch = Batch(names, frozenset(), {}, parcel.codes, parcel.settings, None, disk=disk)
        try:
            found = parcel.step(batch, parcel.job).analysis
        except NotInSnapshot as missing:
            return missing.question
        found.findings = [with_names(each, os.path.abspath) for each in found.findings]
        found.unfollowed = {
            each._replace(filename=os.path.abspath(each.filename)) for each in found.unfollowed
        }
        return found


def unpacked(found: Analysis, shown: Mapping[str, str]) -> Analysis:
    """Return the findings with the files named as this check names them (`shown`, by path)."""
    names = {**{each: os.path.relpath(each) for each in found.imported}, **shown}
    found.findings = [with_names(each, lambda n: names.get(n, n)) for each in found.findings]
    found.unfollowed = {
        each._replace(filename=names.get(each.filename, each.filename)) for each in found.unfollowed
    }
    return found


def with_names(finding: Finding, named: Callable[[str], str]) -> Finding:
    """Return the finding with other names for its files."""

    def placed(span: Span) -> Span:
        return span._replace(filename=named(span.filename))

    trace = tuple(each._replace(span=placed(each.span)) for each in finding.trace)
    return finding._replace(span=placed(finding.span), trace=trace)
