"""Read the files that a program begins in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tpulint.finding import Finding
from tpulint.frontends.tensorflow.prefilter import passes
from tpulint.incremental.model import Batch, Job
from tpulint.pipeline.prefilter import unreadable

if TYPE_CHECKING:
    from tpulint.source import Source


# The reading of a program needs up to 40 KB for each row.
ROWS_LIMIT = 50_000
CHARACTERS_LIMIT = 3 * 1024 * 1024


class ProgramSources(NamedTuple):
    """The sources that a program begins in, and TPU001 for the files that cannot be read."""

    sources: list[Source]
    findings: list[Finding]


def read_sources(batch: Batch, job: Job) -> ProgramSources:
    """Read the seeds of the program; a file that cannot matter does not have to be text at all."""
    result = ProgramSources([], [])
    for filename in job.seeds:
        try:
            data = batch.disk.read(os.path.abspath(filename))
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            result.findings.append(unreadable(filename, reason, 1, 1))
            continue
        if passes(data, batch.settings.seam_names):
            _add_source(filename, data, result)
    return result


def _add_source(filename: str, data: bytes, result: ProgramSources) -> None:
    from tpulint.source import UnreadableSource, read_source

    try:
        source = read_source(filename, data)
    except UnreadableSource as error:
        result.findings.append(unreadable(filename, error.reason, error.row, error.column))
        return
    text = source.text
    if len(text) > CHARACTERS_LIMIT or text.count("\n") > ROWS_LIMIT:
        limits = f"{ROWS_LIMIT:,} lines or {CHARACTERS_LIMIT:,} characters"
        reason = f"is not checked: it is longer than {limits}"
        result.findings.append(unreadable(filename, reason, 1, 1))
        return
    result.sources.append(source)
    result.findings.extend(unreadable(filename, *problem) for problem in source.problems)
