"""`--scheduler ADDRESS`: the programs of a run are read by the workers of a Dask cluster.

What a program is read from travels with it, so the machines need not share a disk. A worker that
dies costs a retry: Dask gives its programs to others. A program that keeps killing its workers is
left to the caller.
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
from tpulint.pipeline.jobs import Job, Run
from tpulint.pipeline.parcel import Analyzer, Answer, Other, packed, read_parcel, recorded, unpacked
from tpulint.pipeline.progress import Progress
from tpulint.pipeline.snapshot import Recorder

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT = 10.0  # seconds until a scheduler has answered
IDLE = 60.0  # seconds without any worker after which the run ends
TICK = 1.0  # seconds between two looks at the workers
AHEAD = 4  # programs a worker that are on their way: more would only fill the scheduler
ROUNDS = 100  # of questions that a recorder had not been asked


def read_on_cluster(
    address: str, run: Run, jobs: Sequence[Job], progress: Progress
) -> dict[Job, Analysis | None]:
    """The findings of each program; None where no worker could read it.

    Raises ConfigError where the cluster cannot be used.
    """
    if not jobs:
        return {}
    with connected(address) as client:
        reading = Reading(address, client, run)
        try:
            return reading.all(jobs, progress)
        finally:
            client.cancel(list(reading.on_the_way), force=True)


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler. Raises ConfigError where there is none."""
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


class Reading:
    """The programs of a run on their way to the workers and back."""

    def __init__(self, address: str, client: Client, run: Run) -> None:
        self._address = address
        self._client = client
        self._run = run
        self._shown = {os.path.abspath(each): each for each in run.filenames}
        self._found: dict[Job, Analysis | None] = {}
        self._rounds: dict[Job, int] = {}
        self._room = 1
        self._looked = 0.0
        self._alive = time.monotonic()
        self.on_the_way: dict[Future, tuple[Job, Recorder]] = {}

    def all(self, jobs: Sequence[Job], progress: Progress) -> dict[Job, Analysis | None]:
        """Read the programs, the largest first."""
        waiting = deque(sorted(jobs, key=lambda job: -job.size))
        while waiting or self.on_the_way:
            self._look_at_workers()
            while waiting and len(self.on_the_way) < self._room:
                job = waiting.popleft()
                self._send(job, recorded(self._run, job))
            progress.step("programs checked:", len(self._found), len(jobs))
            for future in self._done():
                job, recorder = self.on_the_way.pop(future)
                self._take(job, recorder, future)
                future.release()
        return self._found

    def _send(self, job: Job, recorder: Recorder) -> None:
        data = packed(self._run, job, recorder.answers)
        future = self._client.submit(read_parcel, data, pure=False)
        self.on_the_way[future] = (job, recorder)

    def _done(self) -> list[Future]:
        """The programs that have come back, after a moment at the latest."""
        from distributed import wait

        try:
            wait(list(self.on_the_way), timeout=TICK, return_when="FIRST_COMPLETED")
        except TimeoutError:
            return []
        return [each for each in self.on_the_way if each.done()]

    def _take(self, job: Job, recorder: Recorder, future: Future) -> None:
        """Keep what was found in a program, or send it again with what was missing."""
        answer = self._answer(future)
        if isinstance(answer, Other):
            theirs = in_words(answer.analyzer)
            raise ConfigError(f"--scheduler {self._address}: a worker has {theirs}")
        if isinstance(answer, tuple):
            self._rounds[job] = self._rounds.get(job, 0) + 1
            if self._rounds[job] <= ROUNDS:
                recorder.ask(answer)
                self._send(job, recorder)
                return
            answer = None
        if answer is not None and not answer.failed:
            self._found[job] = unpacked(answer, self._shown)
        else:
            self._found[job] = None

    def _answer(self, future: Future) -> Answer | None:
        """The answer of a worker; None where all that tried it have died."""
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
    """The analyzer of a worker whose findings may be others."""
    return (
        f"another analyzer: tpulint {other.tpulint} ({other.package[:12]}),"
        f" Python {other.python}, libcst {other.libcst}"
    )
