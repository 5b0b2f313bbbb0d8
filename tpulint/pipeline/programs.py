"""The programs among the files of a batch.

A program is what imports bind together: files that show the seam are of one program where they
reach a common file. So findings depend on the files alone, not on how many processes share the
work, on the order of the files or on the folder that they were found from.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpulint.disk import Disk
from tpulint.incremental.model import Batch, Job
from tpulint.pipeline.prefilter import Prefiltered

if TYPE_CHECKING:
    from tpulint.analysis.names.spelling_search import Spelled
    from tpulint.analysis.resolver.import_graph import ImportGraph
    from tpulint.frontends.tensorflow.program import Program


def split_into_programs(
    batch: Batch, prefiltered: Prefiltered, graph: ImportGraph, disk: Disk
) -> list[Job]:
    """Return the seeds by program; a program that reaches no file to report on is left out.

    `disk` is asked which package a file is of.
    """
    if not prefiltered.seeds:
        return []
    from tpulint.analysis.file_facts import by_home
    from tpulint.analysis.resolver.import_graph import connected
    from tpulint.frontends.tensorflow.soft_programs import SoftPlacement

    names = {os.path.abspath(name): name for name in prefiltered.seeds}
    setters = {os.path.abspath(name): state for name, state in prefiltered.setters}
    everything = [os.path.abspath(name) for name in batch.filenames]
    context = {os.path.abspath(name) for name in batch.context}
    scripts = frozenset(map(os.path.abspath, prefiltered.scripts))
    placement = SoftPlacement(graph, everything, setters, scripts)
    asked = set(everything) - context
    homes = by_home(map(os.path.abspath, prefiltered.estimators), disk)
    jobs = []
    for group in connected(graph, names, homes):
        if not context or not asked.isdisjoint(group.all):
            states = ((path, placement.of(path)) for path in group.seeds)
            placed = tuple((path, state) for path, state in states if state is not None)
            seeds = tuple(names[path] for path in group.seeds)
            jobs.append(Job(seeds, placed, len(group.all)))
    return jobs


def program_of_names(batch: Batch, spelled: Sequence[Spelled], disk: Disk) -> Program:
    """Return the names that a file's TensorFlow lacks, whatever program it is of."""
    from tpulint.analysis.names.target_release import Targets
    from tpulint.frontends.tensorflow.program import Program

    targets = Targets(batch.settings.target_tensorflow, disk)
    return Program(spelled=list(spelled), targets=targets)
