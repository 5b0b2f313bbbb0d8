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

from tpulint import __version__
from tpulint.finding import Finding, Span
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.jobs import Job, Run
from tpulint.pipeline.programs import one_program
from tpulint.pipeline.snapshot import Answers, NotInSnapshot, Question, Recorder, Snapshot
from tpulint.pipeline.version import package_hash

if TYPE_CHECKING:
    from tpulint.analysis.options import Settings


class Parcel(NamedTuple):
    """`analyzer` is what has to read the program; `filenames` are those of the run in it."""

    analyzer: Analyzer
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


class Other(NamedTuple):
    """The answer of a machine whose analyzer is another one."""

    analyzer: Analyzer


Answer = Analysis | Question | Other
_alone = threading.Lock()  # libcst and the recursion limit are the whole process's


def this_analyzer() -> Analyzer:
    minor = ".".join(platform.python_version_tuple()[:2])
    return Analyzer(__version__, package_hash(), minor, version("libcst"))


def recorded(run: Run, job: Job) -> Recorder:
    """A recorder that was asked what, as far as one can tell, the reading of the program asks."""
    from tpulint.analysis.disabled_estimators import home_of
    from tpulint.analysis.names.target_release import Targets
    from tpulint.analysis.resolver.files import Files
    from tpulint.analysis.resolver.import_graph import ImportGraph

    recorder = Recorder()
    files = Files({}, recorder)
    graph = ImportGraph(files)
    targets = Targets(run.settings.target_tensorflow, recorder)
    reached = [graph.reached(os.path.abspath(each)) for each in job.seeds]
    for path in sorted(set().union(*reached)):
        files.look_around(path)
        targets.of(path)
        home_of(path, recorder)
    return recorder


def packed(run: Run, job: Job, answers: Answers) -> bytes:
    """The parcel of a program."""
    paths = map(os.path.abspath, run.filenames)
    parcel = Parcel(
        this_analyzer(),
        job._replace(seeds=tuple(map(os.path.abspath, job.seeds))),
        tuple(each for each in paths if each in answers.files),
        run.codes,
        run.settings,
        answers,
    )
    return zlib.compress(pickle.dumps(parcel), 1)


def read_parcel(data: bytes) -> Answer:
    """Read the program in a parcel; the answer is what was found, or what has to come with it."""
    with _alone:
        parcel: Parcel = pickle.loads(zlib.decompress(data))
        mine = this_analyzer()
        if mine != parcel.analyzer:
            return Other(mine)
        disk = Snapshot(parcel.answers)
        run = Run(parcel.filenames, frozenset(), {}, parcel.codes, parcel.settings, None, disk=disk)
        try:
            found = one_program(run, parcel.job)
        except NotInSnapshot as missing:
            return missing.question
        found.findings = [with_names(each, os.path.abspath) for each in found.findings]
        return found


def unpacked(found: Analysis, shown: Mapping[str, str]) -> Analysis:
    """The findings of a parcel, the files named as this run names them (`shown`, by path)."""
    names = {**{each: os.path.relpath(each) for each in found.imported}, **shown}
    found.findings = [with_names(each, lambda n: names.get(n, n)) for each in found.findings]
    return found


def with_names(finding: Finding, named: Callable[[str], str]) -> Finding:
    """The finding with other names for its files."""

    def placed(span: Span) -> Span:
        return span._replace(filename=named(span.filename))

    trace = tuple(each._replace(span=placed(each.span)) for each in finding.trace)
    return finding._replace(span=placed(finding.span), trace=trace)
