"""The modules of a project: read when they are asked for, each once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.analysis.reading import names
from tpulint.analysis.domain.values import Const
from tpulint.analysis.resolver.files import Files
from tpulint.analysis.resolver.project import Project
from tpulint.syntax import ir
from tpulint.syntax.summary_cache import Store

MODULE = "/project/net.py"
SEAM = "from tensorflow.compat.v1.tpu import outside_compilation\n"  # modules without it are passed


class Facts:
    """The summaries of a store, and the files that they were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, filename: str, data: bytes, text: str) -> ir.ModuleSummary | None:
        self.asked.append(filename)
        return Store(None, 1).one(filename, data, text)


def test_a_module_is_read_once() -> None:
    facts = Facts()
    project = Project(facts, Files({MODULE: b"x = 1\n"}), (MODULE,))
    assert project.known(MODULE) is None
    module = project.module(MODULE)
    assert module is not None and module is project.module(MODULE) is project.known(MODULE)
    assert facts.asked == [MODULE]


def test_a_module_is_reported_if_it_is_one_of_the_runs() -> None:
    given = {MODULE: b"x = 1\n", "/project/other.py": b"y = 1\n"}
    project = Project(Facts(), Files(given), (MODULE,))
    modules = [project.module(path) for path in given]
    assert [module is not None and module.reported for module in modules] == [True, False]


def test_relative_names_are_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (tmp_path / "one", tmp_path / "other"):
        folder.mkdir()
        (folder / "module.py").write_text("x = 1\n", encoding="utf-8")
        monkeypatch.chdir(folder)
        module = Project(Facts(), Files({}), ("module.py",)).module(str(folder / "module.py"))
        assert module is not None and module.reported


def test_what_is_no_python_has_no_module() -> None:
    assert Project(Facts(), Files({MODULE: b"x = (\n"})).module(MODULE) is None
    assert Project(Facts(), Files({MODULE: b"x = '\xff'\n"})).module(MODULE) is None


def test_a_package_without_an_init_is_an_empty_module() -> None:
    facts = Facts()
    module = Project(facts, Files({MODULE: b""})).module("/project/__init__.py")
    assert module is not None and module.text == ""
    assert facts.asked == []


def test_a_module_that_shows_the_seam_matters() -> None:
    project = Project(
        Facts(), Files({MODULE: b"x = 1\n", "/project/a.py": b"outside_compilation(f)\n"})
    )
    assert not project.matters(MODULE)
    assert project.matters("/project/a.py")


def test_names_come_from_the_module_that_an_import_means() -> None:
    found = names("from net import x\nimport net as n\ny, z = x, n.x\n", net=SEAM + "x = 4\n")
    assert found["y"] == found["z"] == Const(4)


def test_modules_that_import_each_other_are_read() -> None:
    found = names("from net import x\ny = x\n", net=SEAM + "x = 4\nimport main\n")
    assert found["y"] == Const(4)
