"""Parse what passed the screen, then read the program from its entry points."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tpulint.analysis import disabled_estimators, entry_discovery
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Module
from tpulint.analysis.interpreter.interpreter import Interpreter
from tpulint.analysis.interpreter.observer import Observer
from tpulint.analysis.models.registry import Models
from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.files import Files
from tpulint.analysis.resolver.project import Project
from tpulint.source import Source
from tpulint.syntax.summary_cache import Store


def link(
    sources: list[Source],
    filenames: Sequence[str],
    files: Files,
    settings: Settings,
    store: Store,
    observer: Observer | None = None,
) -> Program:
    """The program of `sources`, which are those of `filenames` that passed the screen.

    `files` finds the others.
    """
    project = Project(store.one, files, filenames)
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
    disabled_estimators.drop(interpreter.program, files.disk)
    for module in modules:
        if module.pieces.problem is not None:
            store.refuse(module.filename, *module.pieces.problem)
    store.keep()
    store.messages += map(str, interpreter.failures)
    interpreter.program.failures = interpreter.failures
    interpreter.program.skipped = interpreter.skipped()
    return interpreter.program
