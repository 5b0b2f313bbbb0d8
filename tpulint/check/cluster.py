"""`--scheduler ADDRESS`: the workers of a Dask cluster analyze the programs of a check.

What a program is read from travels with it, so the machines need not share a disk. Names are
absolute on the way: only where the check was started has anybody a working directory. A worker that
dies costs a retry: Dask gives its programs to others. A program that keeps killing its workers is
analyzed by the machine that sent it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import platform
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

from tpulint import __version__, plugins
from tpulint.absint.resolver.import_graph import Files, ImportGraph
from tpulint.check.executor import LocalWorkers, ProgramStep
from tpulint.check.progress import Progress
from tpulint.config import ConfigError
from tpulint.file_facts import home_of
from tpulint.finding import Finding, Span
from tpulint.frontends import installed, targets_of
from tpulint.incremental.disk import DiskSnapshot, NotInSnapshot, TrackedDisk
from tpulint.incremental.memo import package_hash
from tpulint.incremental.model import Analysis, Batch, Job

if TYPE_CHECKING:
    from distributed import Client, Future


CONNECT_SECONDS = 10.0  # until a scheduler has answered
ANSWER_SECONDS = 10.0
IDLE_SECONDS = 60.0  # without any worker after which the check ends
POLL_SECONDS = 1.0  # between two looks at the workers
MAX_IN_FLIGHT_PER_WORKER = 4  # programs: more would only fill the scheduler
MAX_ROUNDS = 100  # in which a program is sent again with what its snapshot lacked


class ClusterWorkers(LocalWorkers):
    """This machine, except that a cluster analyzes the programs."""

    _client: Client
    _step: ProgramStep

    def __init__(self, address: str, batch: Batch, processes: int, progress: Progress) -> None:
        super().__init__(batch, processes, progress)
        self._address = address
        self._analyzer = this_analyzer()
        self._shown = {os.path.abspath(name): name for name in batch.filenames}
        self._done: dict[Job, Analysis | None] = {}
        self._rounds: dict[Job, int] = {}
        self._capacity = 1
        self._polled = 0.0
        self._alive = 0.0
        self._in_flight: dict[Future, tuple[Job, DiskSnapshot]] = {}

    def analyze(self, step: ProgramStep, jobs: Sequence[Job]) -> Iterator[tuple[Job, Analysis]]:
        """Send the programs; one that no worker survives is analyzed here."""
        if not jobs:
            return
        self._step = step
        with connected(self._address) as self._client:
            self._alive = time.monotonic()
            try:
                self._run(jobs)
            finally:
                self._client.cancel(list(self._in_flight), force=True)
        for job in jobs:
            yield job, self._done[job] or step(self._batch, job)

    def _run(self, jobs: Sequence[Job]) -> None:
        """Send the programs, the largest first, until all have come back."""
        from distributed import wait

        waiting = deque(sorted(jobs, key=lambda job: -job.size))
        while waiting or self._in_flight:
            self._count_workers()
            while waiting and len(self._in_flight) < self._capacity:
                job = waiting.popleft()
                self._send(job, expected_snapshot(self._batch, job))
            self._progress.step("programs checked:", len(self._done), len(jobs))
            with contextlib.suppress(TimeoutError):
                wait(list(self._in_flight), timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
            for future in [future for future in self._in_flight if future.done()]:
                job, snapshot = self._in_flight.pop(future)
                self._take(job, snapshot, future)
                future.release()

    def _send(self, job: Job, snapshot: DiskSnapshot) -> None:
        data = serialize(self._batch, job, self._step, snapshot)
        future = self._client.submit(run_task, self._analyzer, data, pure=False)
        self._in_flight[future] = (job, snapshot)

    def _take(self, job: Job, snapshot: DiskSnapshot, future: Future) -> None:
        """Keep what was found in a program, or send it again with what was missing."""
        answer = self._answer(future)
        if isinstance(answer, AnalyzerVersion):
            raise ConfigError(f"--scheduler {self._address}: a worker has {answer}")
        if isinstance(answer, Missing):
            self._rounds[job] = self._rounds.get(job, 0) + 1
            if self._rounds[job] <= MAX_ROUNDS:
                snapshot.add(self._batch.disk, answer.files, answer.folders)
                self._send(job, snapshot)
                return
            answer = None
        is_sound = answer is not None and not answer.failures
        self._done[job] = with_shown_names(answer, self._shown) if answer and is_sound else None

    def _answer(self, future: Future) -> Answer | None:
        """Return the answer of a worker; None where all that tried it have died."""
        from distributed import KilledWorker

        if future.status == "finished":
            answer: Answer = future.result(timeout=IDLE_SECONDS)
            return answer
        error = future.exception(timeout=ANSWER_SECONDS) if future.status == "error" else None
        if isinstance(error, KilledWorker):
            return None
        words = f"{type(error).__name__}: {error}" if error else "the connection was lost"
        raise ConfigError(f"--scheduler {self._address}: {' '.join(words.split())[:300]}")

    def _count_workers(self) -> None:
        """Count the workers now and then. Raises ConfigError where there are none for long."""
        now = time.monotonic()
        if now - self._polled < POLL_SECONDS:
            return
        self._polled = now
        try:
            workers = len(self._client.nthreads())
        except (OSError, TimeoutError) as error:
            raise ConfigError(f"--scheduler {self._address}: {error}") from None
        if workers:
            self._alive = now
        elif now - self._alive > IDLE_SECONDS:
            seconds = f"{IDLE_SECONDS:.0f} seconds"
            raise ConfigError(f"--scheduler {self._address}: no worker for {seconds}")
        self._capacity = max(1, MAX_IN_FLIGHT_PER_WORKER * workers)


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect with the scheduler. Raises ConfigError where there is none."""
    try:
        import dask
        from distributed import Client
    except ImportError:
        from tpulint.installation import install

        raise ConfigError(f"--scheduler needs Dask: {install('distributed')}") from None
    # A program with its files may be larger than what Dask takes for a mistake.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        try:
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            words = " ".join(str(error).split()) or type(error).__name__
            raise ConfigError(f"--scheduler {address}: no connection: {words}") from None
        try:
            with client.as_current():
                yield client
        finally:
            client.close(timeout=CONNECT_SECONDS)


# What goes to a worker, and what comes back.


class AnalyzerVersion(NamedTuple):
    """The versions that findings depend on, beside the files.

    It is the answer of a machine that has another analyzer than the sender.
    """

    tpulint: str
    package: str
    python: str
    libcst: str
    plugins: plugins.PluginOptions

    def __str__(self) -> str:
        return (
            f"another analyzer: tpulint {self.tpulint} ({self.package[:12]}),"
            f" Python {self.python}, libcst {self.libcst}"
        )


class Missing(NamedTuple):
    """The answer of a machine to a program whose snapshot lacked something."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


Answer = Analysis | Missing | AnalyzerVersion
_one_at_a_time = threading.Lock()  # the recursion limit is the whole process's


def this_analyzer() -> AnalyzerVersion:
    minor = ".".join(platform.python_version_tuple()[:2])
    options = plugins.active().options
    return AnalyzerVersion(__version__, package_hash(), minor, version("libcst"), options)


def expected_snapshot(batch: Batch, job: Job) -> DiskSnapshot:
    """Return the part of the disk that, by its imports, the reading of a program asks for."""
    disk = TrackedDisk(batch.disk)
    files = Files(disk, installed=installed())
    graph = ImportGraph(files)
    targets = targets_of(batch.settings, disk)
    reached = [graph.reached(os.path.abspath(seed)) for seed in job.seeds]
    for path in sorted(set().union(*reached)):
        files.probe_package_roots(path)
        targets.of(path)
        home_of(path, disk)
    snapshot = DiskSnapshot()
    snapshot.add_answers(batch.disk, disk.dependencies)
    return snapshot


def serialize(batch: Batch, job: Job, step: ProgramStep, snapshot: DiskSnapshot) -> bytes:
    """Return the step, the program that it analyzes and its part of the batch as bytes."""
    paths = map(os.path.abspath, batch.filenames)
    files = tuple(path for path in paths if path in snapshot.files)
    part = Batch(files, frozenset(), snapshot, batch.codes, batch.settings)
    job = job._replace(seeds=tuple(map(os.path.abspath, job.seeds)))
    return zlib.compress(pickle.dumps((step, job, part)), 1)


def run_task(sender: AnalyzerVersion, data: bytes) -> Answer:
    """Analyze the program in these bytes; the answer may be what has to come with it.

    What another analyzer has sent is not even unpacked. The bytes come from the scheduler, which
    runs whatever it is given: to unpickle them gives it no power that it does not have.
    """
    plugins.require(sender.plugins)
    mine = this_analyzer()
    if mine != sender:
        return mine
    with _one_at_a_time:
        task: tuple[ProgramStep, Job, Batch] = pickle.loads(zlib.decompress(data))
        step, job, batch = task
        try:
            analysis = step(batch, job)
        except NotInSnapshot as missing:
            path = (missing.path,)
            return Missing(folders=path) if missing.is_folder else Missing(files=path)
        return with_names(analysis, os.path.abspath)


def with_shown_names(analysis: Analysis, shown: Mapping[str, str]) -> Analysis:
    """Return the analysis with the files named as this check names them (`shown`, by path)."""
    read = analysis.dependencies.files if analysis.dependencies is not None else ()
    names = {**{path: os.path.relpath(path) for path in read}, **shown}
    return with_names(analysis, lambda name: names.get(name, name))


def with_names(analysis: Analysis, name_of: Callable[[str], str]) -> Analysis:
    return analysis._replace(
        findings=tuple(_renamed(finding, name_of) for finding in analysis.findings),
        unfollowed=frozenset(
            call._replace(filename=name_of(call.filename)) for call in analysis.unfollowed
        ),
        programs=tuple(
            program._replace(
                begins=name_of(program.begins), files=tuple(map(name_of, program.files))
            )
            for program in analysis.programs
        ),
    )


def _renamed(finding: Finding, name_of: Callable[[str], str]) -> Finding:
    def placed(span: Span) -> Span:
        return span._replace(filename=name_of(span.filename))

    trace = tuple(step._replace(span=placed(step.span)) for step in finding.trace)
    return finding._replace(span=placed(finding.span), trace=trace)
