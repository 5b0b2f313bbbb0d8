"""Parse what passed the screen, then read the program from its entry points."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from tpulint.analysis import disabled_estimators, entry_discovery
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Module
from tpulint.analysis.interpreter.interpreter import Interpreter
from tpulint.analysis.interpreter.observer import Observer
from tpulint.analysis.models.registry import Models
from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.project import Project
from tpulint.source import Source
from tpulint.syntax.summary_cache import Store


def link(
    sources: list[Source],
    filenames: Sequence[str],
    given: Mapping[str, bytes],
    settings: Settings,
    store: Store,
    observer: Observer | None = None,
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
    interpreter = Interpreter(project, settings, Models(settings.wrappers), observer)
    entry_discovery.read_all(interpreter, modules)
    disabled_estimators.drop(interpreter.program)
    for module in modules:
        if module.pieces.problem is not None:
            store.refuse(module.filename, *module.pieces.problem)
    store.keep()
    store.messages += interpreter.errors
    interpreter.program.skipped = interpreter.skipped()
    return interpreter.program
