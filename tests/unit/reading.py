"""Read programs that tests write, without files and without rules."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

from tpulint.absint.domain.site import Module
from tpulint.absint.domain.values import Value
from tpulint.absint.interpreter.interpreter import Interpreter
from tpulint.absint.resolver.import_graph import Files
from tpulint.absint.resolver.project import Project
from tpulint.check.analysis import summarize
from tpulint.disk import Disk
from tpulint.frontends.settings import Settings
from tpulint.frontends.tensorflow.build_program import build_program
from tpulint.frontends.tensorflow.knowledge.tf_names import INSTALLED
from tpulint.frontends.tensorflow.models.registry import Models
from tpulint.frontends.tensorflow.program import Program
from tpulint.source import Source, read_source
from tpulint.syntax.lazy_module import Store

FOLDER = "/program"
MAIN = f"{FOLDER}/main.py"


def program(text: str, **modules: str) -> Program:
    """Return the program of the module `text`, and of those that it imports."""
    contents = _given(text, modules)
    store = Store()
    modules = summarize([_source(MAIN, contents)], store)
    return build_program(
        modules, (MAIN,), Files(Disk(contents), installed=INSTALLED), Settings(), store
    )


def interpreter(text: str, **modules: str) -> tuple[Interpreter, Module]:
    """Return an interpreter that has read nothing yet, and the module `text`."""
    contents = _given(text, modules)
    project = Project(Store().one, Files(Disk(contents), installed=INSTALLED), tuple(contents))
    module = project.module(MAIN)
    assert module is not None
    return Interpreter(project, Models(Settings())), module


def names(text: str, **modules: str) -> Mapping[str, Value]:
    """Return the values of the names of the module `text`, once it has run."""
    reader, module = interpreter(text, **modules)
    actual = reader.module_env(module).names
    assert not reader.failures
    return actual


def _given(text: str, modules: Mapping[str, str]) -> dict[str, bytes]:
    texts = {MAIN: text} | {
        f"{FOLDER}/{name}.py": module_text for name, module_text in modules.items()
    }
    return {path: dedent(module_text).encode() for path, module_text in texts.items()}


def _source(path: str, unsaved: Mapping[str, bytes]) -> Source:
    return read_source(path, unsaved[path])
