"""The programs of a batch on their way to the workers of a Dask cluster and back."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpulint.config import ConfigError
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.executor import ProgramStep
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
from tpulint.pipeline.progress import Progress
from tpulint.pipeline.snapshot import RecordingDisk

if TYPE_CHECKING:
    from distributed import Client, Future

ANSWER = 10.0  # seconds until a scheduler has answered
IDLE = 60.0  # seconds without any worker after which the check ends
TICK = 1.0  # seconds between two looks at the workers
AHEAD = 4  # programs a worker that are on their way: more would only fill the scheduler
ROUNDS = 100  # of questions that the disk had not been asked


class SentPrograms:
    """Sends programs, and sends one again with what it lacked."""

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
        error = future.exception(timeout=ANSWER) if future.status == "error" else None
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
