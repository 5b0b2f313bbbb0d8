"""Build a program: read the modules that begin it, and what they lead to."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from tpulint.analysis import disabled_estimators, entry_discovery, refused_branches
from tpulint.analysis.domain.site import Module
from tpulint.analysis.interpreter.interpreter import Interpreter
from tpulint.analysis.interpreter.observer import Observer
from tpulint.analysis.models.registry import Models
from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.files import Files
from tpulint.analysis.resolver.import_graph import ImportGraph
from tpulint.analysis.resolver.project import Project
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.soft_programs import importers
from tpulint.syntax.summaries import Store

PASSED = "on the host, in a module without TPU code"  # why a function was not followed


class Summarized(NamedTuple):
    """A file and its module; None where the file cannot be parsed."""

    filename: str
    module: Module | None


def build_program(
    summarized: Sequence[Summarized],
    filenames: Sequence[str],
    files: Files,
    settings: Settings,
    store: Store,
    observer: Observer | None = None,
) -> Program:
    """Return the program that begins in the modules `summarized`, which are among `filenames`.

    `files` finds the others.
    """
    project = Project(store.one, files, filenames)
    for each in summarized:
        project.add(each.filename, each.module)
    modules = [each.module for each in summarized if each.module is not None]
    program = Program()
    interpreter = Interpreter(project, Models(settings), observer, program)
    entry_discovery.read_all(interpreter, modules, settings.wrappers)
    disabled_estimators.drop(program, files.disk)
    refused_branches.drop(program)
    store.release()
    program.failures = interpreter.failures
    skipped = interpreter.skipped()
    program.skipped = {PASSED: len(skipped)} if skipped else {}
    program.unfollowed = interpreter.unfollowed
    paths = [each.path for each in program.modules]
    program.find_importers = functools.partial(importers, ImportGraph(files), paths)
    return program
