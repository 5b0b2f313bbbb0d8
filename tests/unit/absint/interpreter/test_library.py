"""The interpreter reads Python without a front end: it knows no library itself."""

from __future__ import annotations

from textwrap import dedent

from tpulint.absint.domain.values import UNKNOWN, Const, External
from tpulint.absint.interpreter.frame import Library
from tpulint.absint.interpreter.interpreter import Interpreter
from tpulint.absint.resolver.import_graph import Files
from tpulint.absint.resolver.project import Project
from tpulint.disk import Disk
from tpulint.frontends.tensorflow.knowledge.tf_names import INSTALLED
from tpulint.syntax.lazy_module import Store

MAIN = "/program/main.py"
TEXT = """
    import library
    from other import two

    class Base:
        def __init__(self, value):
            self.value = value

        def __call__(self, more):
            return self.value + more

    class Derived(Base, library.Base):
        pass

    called = Derived(40)(two)
    found = library.function
    unseen = library.function(1)
    either = 1 if library.flag else 2
"""


def test_python_is_read_without_a_front_end() -> None:
    files = Files(
        Disk({MAIN: dedent(TEXT).encode(), "/program/other.py": b"two = 1 + 1\n"}),
        installed=INSTALLED,
    )
    project = Project(Store().one, files, (MAIN,))
    module = project.module(MAIN)
    assert module is not None
    reader = Interpreter(project, Library())
    names = reader.module_env(module).names
    assert not reader.failures
    assert names["called"] == Const(42)
    assert names["found"] == External("library.function")
    assert names["unseen"] is UNKNOWN
    assert repr(names["either"]) == "1 or 2"
