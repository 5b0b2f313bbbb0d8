"""Parse what passed the screen, then read the program from its entry points."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from tpulint.program import roots, unused
from tpulint.program.evaluate.machine import Machine
from tpulint.program.model import Program
from tpulint.program.module import Module
from tpulint.program.project import Project
from tpulint.program.settings import Settings
from tpulint.program.store import Store
from tpulint.source import Source


def link(
    sources: list[Source],
    filenames: Sequence[str],
    given: Mapping[str, bytes],
    settings: Settings,
    store: Store,
) -> Program:
    """The program of `sources`, which are those of `filenames` that passed the screen."""
    project = Project(store.one, given, filenames)
    modules: list[Module] = []
    for source, facts in store.many(sources):
        if facts is None:
            project.add(source.filename, None)
            continue
        module = Module(source.filename, os.path.abspath(source.filename), source.text, facts)
        modules.append(module)
        project.add(source.filename, module)
    machine = Machine(project, settings)
    roots.read_all(machine, modules)
    unused.drop(machine.program)
    for module in modules:
        if module.pieces.problem is not None:
            store.refuse(module.filename, *module.pieces.problem)
    store.keep()
    store.messages += machine.ledger.errors
    return machine.program
