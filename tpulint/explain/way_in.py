"""The reason why a file is part of an analysis, or is not."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tpulint.config.closest import Closest
from tpulint.knowledge.seam import SIGNS
from tpulint.pipeline.batch import Job
from tpulint.pipeline.discover import ignored, ignores_above, with_ignore_file
from tpulint.pipeline.project_root import project_of
from tpulint.syntax.prefilter import passes

ROOTS = 3  # of a program, in an account


def left_out(path: str, closest: Closest) -> list[str]:
    """Return why a check of the folder around the absolute `path` leaves it out."""
    found = []
    if closest.excludes(path):
        config = closest.of_file(path)
        where = os.path.relpath(config.file) if config.file else "default"
        found.append(f"excluded by the {where} configuration, unless it is named")
    folder = os.path.dirname(path)
    if ignored(with_ignore_file(folder, [".gitignore"], ignores_above(folder)), path):
        found.append("ignored by git, so left out unless it is named")
    return found


def prefilter(data: bytes, wrappers: Sequence[str]) -> str:
    """Return the prefilter's answer."""
    if not passes(data, wrappers):
        return "prefilter: nothing in its bytes names the seam, so only an import leads to it"
    sign = next((each.decode() for each in SIGNS if each in data), None)
    return f"prefilter: it names the seam{f' ({sign})' if sign else ''}"


def program_of(job: Job, modules: int) -> str:
    """Return which program it is that reads the file."""
    roots = ", ".join(job.seeds[:ROOTS]) + (", ..." if len(job.seeds) > ROOTS else "")
    return f"read in the program of {roots} ({modules} module{'s' if modules != 1 else ''} read)"


def not_reached(path: str, jobs: Sequence[Job], passed: set[str]) -> str:
    """Return why a file that can be parsed was not read."""
    if passed:
        names = ", ".join(sorted(passed))
        return (
            f"not reached: {names} of it is called on the host only, where a module is read "
            "only if it can change a finding"
        )
    if jobs:
        return "not reached: a program imports it, but no name that was read leads into it"
    project = os.path.relpath(project_of(path) or os.path.dirname(path))
    return f"not reached: no file of its project, {project}, names the seam and imports it"
