"""`--scheduler ADDRESS`: the workers of a Dask cluster analyze the programs of a check.

What a program is read from travels with it, so the machines need not share a disk. A worker that
dies costs a retry: Dask gives its programs to others. A program that keeps killing its workers is
analyzed by the machine that sent it.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tpulint.config import ConfigError
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.executor import (
    ISOLATED,
    NamesStep,
    PrefilterStep,
    ProcessExecutor,
    ProgramStep,
)
from tpulint.pipeline.kept_programs import KeptPrograms
from tpulint.pipeline.parcel import (
    Analyzer,
    Answer,
    OtherAnalyzer,
    packed,
    read_parcel,
    recorded,
    this_analyzer,
    unpacked,
)
from tpulint.pipeline.prefilter import Prefiltered
from tpulint.pipeline.progress import Progress
from tpulint.pipeline.snapshot import RecordingDisk

if TYPE_CHECKING:
    from distributed import Client, Future

    from tpulint.analysis.resolver.import_graph import ImportGraph

CONNECT = 10.0  # seconds until a scheduler has answered
IDLE = 60.0  # seconds without any worker after which the run ends
TICK = 1.0  # seconds between two looks at the workers
AHEAD = 4  # programs a worker that are on their way: more would only fill the scheduler
ROUNDS = 100  # of questions that the disk had not been asked


class ClusterExecutor:
    """Runs the steps on this machine, except that a cluster analyzes the programs."""

    def __init__(
        self, address: str, batch: Batch, local: ProcessExecutor, progress: Progress
    ) -> None:
        self._address = address
        self._batch = batch
        self._local = local
        self._kept = KeptPrograms(batch)
        self._progress = progress

    def prefilter(self, step: PrefilterStep) -> Prefiltered:
        """Search the bytes of all files on this machine."""
        return self._local.prefilter(step)

    def graph(self) -> ImportGraph | None:
        """Return None: no import graph is known from an earlier check."""
        return self._local.graph()

    def names(self, prefiltered: Prefiltered, step: NamesStep) -> Analysis:
        """Find what is wrong with names alone on this machine."""
        return self._local.names(prefiltered, step)

    def programs(self, jobs: Sequence[Job], step: ProgramStep) -> Iterator[Analysis]:
        """Send the programs that have changed; one that no worker survives is read here."""
        known = {job: found for job in jobs if (found := self._kept.recall(job))}
        sent = self._sent([job for job in jobs if job not in known], step)
        for job in jobs:
            found = known.get(job)
            if found is None:
                isolated = job._replace(isolated=ISOLATED)
                found = sent[job] or step(self._batch, isolated).analysis
                self._kept.remember(job, found)
            yield found

    def _sent(self, jobs: Sequence[Job], step: ProgramStep) -> dict[Job, Analysis | None]:
        """Return what the cluster finds in each program; None where no worker could read it."""
        if not jobs:
            return {}
        with connected(self._address) as client:
            programs = SentPrograms(self._address, client, self._batch, step)
            try:
                return programs.all(jobs, self._progress)
            finally:
                client.cancel(list(programs.on_the_way), force=True)


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect with the scheduler. Raises ConfigError where there is none."""
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise ConfigError("--scheduler needs Dask: pip install 'tpulint[distributed]'") from None
    # A program with its files may be larger than what Dask takes for a mistake.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        try:
            client = Client(address, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            said = " ".join(str(error).split()) or type(error).__name__
            raise ConfigError(f"--scheduler {address}: no connection: {said}") from None
        try:
            with client.as_current():
                yield client
        finally:
            client.close(timeout=CONNECT)


class SentPrograms:
    """The programs of a batch on their way to the workers and back."""

    def __init__(self, address: str, client: Client, batch: Batch, step: ProgramStep) -> None:
        self._address = address
        self._client = client
        self._batch = batch
        self._step = step
        self._analyzer = this_analyzer()
        self._shown = {os.path.abspath(each): each for each in batch.filenames}
        self._found: dict[Job, Analysis | None] = {}
        self._rounds: dict[Job, int] = {}
        self._room = 1
        self._looked = 0.0
        self._alive = time.monotonic()
        self.on_the_way: dict[Future, tuple[Job, RecordingDisk]] = {}

    def all(self, jobs: Sequence[Job], progress: Progress) -> dict[Job, Analysis | None]:
        """Read the programs, the largest first."""
        waiting = deque(sorted(jobs, key=lambda job: -job.size))
        while waiting or self.on_the_way:
            self._look_at_workers()
            while waiting and len(self.on_the_way) < self._room:
                job = waiting.popleft()
                self._send(job, recorded(self._batch, job))
            progress.step("programs checked:", len(self._found), len(jobs))
            for future in self._done():
                job, disk = self.on_the_way.pop(future)
                self._take(job, disk, future)
                future.release()
        return self._found

    def _send(self, job: Job, disk: RecordingDisk) -> None:
        data = packed(self._batch, job, self._step, disk.answers)
        future = self._client.submit(read_parcel, self._analyzer, data, pure=False)
        self.on_the_way[future] = (job, disk)

    def _done(self) -> list[Future]:
        """Return the programs that have come back, after a moment at the latest."""
        from distributed import wait

        try:
            wait(list(self.on_the_way), timeout=TICK, return_when="FIRST_COMPLETED")
        except TimeoutError:
            return []
        return [each for each in self.on_the_way if each.done()]

    def _take(self, job: Job, disk: RecordingDisk, future: Future) -> None:
        """Keep what was found in a program, or send it again with what was missing."""
        answer = self._answer(future)
        if isinstance(answer, OtherAnalyzer):
            theirs = in_words(answer.analyzer)
            raise ConfigError(f"--scheduler {self._address}: a worker has {theirs}")
        if isinstance(answer, tuple):
            self._rounds[job] = self._rounds.get(job, 0) + 1
            if self._rounds[job] <= ROUNDS:
                disk.ask(answer)
                self._send(job, disk)
                return
            answer = None
        if answer is not None and not answer.failures:
            self._found[job] = unpacked(answer, self._shown)
        else:
            self._found[job] = None

    def _answer(self, future: Future) -> Answer | None:
        """Return the answer of a worker; None where all that tried it have died."""
        from distributed import KilledWorker

        if future.status == "finished":
            answer: Answer = future.result(timeout=IDLE)
            return answer
        error = future.exception(timeout=CONNECT) if future.status == "error" else None
        if isinstance(error, KilledWorker):
            return None
        said = f"{type(error).__name__}: {error}" if error else "the connection was lost"
        raise ConfigError(f"--scheduler {self._address}: {' '.join(said.split())[:300]}")

    def _look_at_workers(self) -> None:
        """Count the workers now and then. Raises ConfigError where there are none for long."""
        now = time.monotonic()
        if now - self._looked < TICK:
            return
        self._looked = now
        try:
            workers = len(self._client.nthreads())
        except (OSError, TimeoutError) as error:
            raise ConfigError(f"--scheduler {self._address}: {error}") from None
        if workers:
            self._alive = now
        elif now - self._alive > IDLE:
            raise ConfigError(f"--scheduler {self._address}: no worker for {IDLE:.0f} seconds")
        self._room = max(1, AHEAD * workers)


def in_words(other: Analyzer) -> str:
    """Describe the analyzer of a worker, whose findings may be others."""
    return (
        f"another analyzer: tpulint {other.tpulint} ({other.package[:12]}),"
        f" Python {other.python}, libcst {other.libcst}"
    )
