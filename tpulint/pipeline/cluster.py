"""`--scheduler ADDRESS`: the workers of a Dask cluster analyze the programs of a check.

What a program is read from travels with it, so the machines need not share a disk. A worker that
dies costs a retry: Dask gives its programs to others. A program that keeps killing its workers is
analyzed by the machine that sent it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tpulint.config import ConfigError
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.executor import (
    DivisionStep,
    NamesStep,
    PrefilterStep,
    ProcessExecutor,
    ProgramStep,
)
from tpulint.pipeline.kept_programs import KeptPrograms
from tpulint.pipeline.prefilter import Prefiltered
from tpulint.pipeline.progress import Progress
from tpulint.pipeline.sent_programs import SentPrograms

if TYPE_CHECKING:
    from distributed import Client

CONNECT = 10.0  # seconds until a scheduler has answered


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

    def divide(self, prefiltered: Prefiltered, step: DivisionStep) -> list[Job]:
        """Find the programs on this machine."""
        return self._local.divide(prefiltered, step)

    def names(self, prefiltered: Prefiltered, step: NamesStep) -> Analysis:
        """Find what is wrong with names alone on this machine."""
        return self._local.names(prefiltered, step)

    def programs(self, jobs: Sequence[Job], step: ProgramStep) -> Iterator[Analysis]:
        """Send the programs that have changed; one that no worker survives is read here."""
        known = self._kept.recall(jobs)
        sent = self._sent([job for job in jobs if job not in known], step)
        for job in jobs:
            found = known.get(job)
            if found is None:
                found = sent[job] or step(self._batch, job).analysis
                self._kept.remember(job, found)
            found.messages += self._kept.messages
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
