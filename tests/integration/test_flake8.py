"""The plugin in the real flake8."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import ROOT, flake8, run
from tests.integration.programs import ACROSS, HELPER, LAUNCHES, NESTED
from tpulint.check import driver
from tpulint.incremental.model import Analysis, RuleFailure

FAULT = "main.py:9:12: TPU201"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def test_it_is_installed_under_its_name(plugin: Path, tmp_path: Path) -> None:
    answer = flake8(plugin, tmp_path, "--version")
    assert "flake8-tpulint" in answer.out


def test_findings_and_exit_status(plugin: Path, tmp_path: Path) -> None:
    write(tmp_path, main=NESTED)
    answer = flake8(plugin, tmp_path, "main.py")
    assert answer.status == 1
    assert answer.out.startswith(FAULT)
    assert answer.out.count("\n") == 1


def test_other_modules_of_the_project_are_read(plugin: Path, tmp_path: Path) -> None:
    write(tmp_path, main=ACROSS, helper=HELPER)
    (tmp_path / "pyproject.toml").write_text("")  # what makes the two one project
    both = flake8(plugin, tmp_path, "helper.py", "main.py").out
    (tmp_path / "helper.py").write_text(HELPER.replace("tf.tpu.outside_compilation", "map"))
    assert "TPU201" in both
    assert flake8(plugin, tmp_path, "helper.py", "main.py").out == ""


def test_flake8s_noqa_and_our_own_comment(plugin: Path, tmp_path: Path) -> None:
    call = "tf.tpu.outside_compilation(inner, x)"
    write(tmp_path, main=NESTED.replace(call, f"{call}  # noqa: TPU201"))
    assert flake8(plugin, tmp_path, "main.py").out == ""
    assert flake8(plugin, tmp_path, "--disable-noqa", "main.py").out.startswith(FAULT)
    write(tmp_path, main=NESTED.replace(call, f"{call}  # tpulint: ignore[TPU201] -- known"))
    assert flake8(plugin, tmp_path, "--disable-noqa", "main.py").out == ""


def test_the_projects_configuration_counts(plugin: Path, tmp_path: Path) -> None:
    write(tmp_path, main=NESTED)
    (tmp_path / "pyproject.toml").write_text('[tool.tpulint]\nignore = ["TPU201"]\n')
    assert flake8(plugin, tmp_path, "main.py").out == ""


def test_rules_about_performance_are_asked_for_in_the_configuration(
    plugin: Path, tmp_path: Path
) -> None:
    write(tmp_path, main=LAUNCHES)
    (tmp_path / "pyproject.toml").write_text("[tool.tpulint]\n")
    assert flake8(plugin, tmp_path, "main.py").out == ""
    (tmp_path / "pyproject.toml").write_text("[tool.tpulint]\nperformance = true\n")
    answer = flake8(plugin, tmp_path, "main.py")
    assert [line.split(" ")[:2] for line in answer.out.splitlines()] == [
        ["main.py:9:5:", "TPU901"],
        ["main.py:10:1:", "TPU906"],
    ]
    assert answer.status == 1
    assert "a launch for each of 1,000 steps of an epoch" in answer.out


def test_a_wrong_configuration_is_one_finding(plugin: Path, tmp_path: Path) -> None:
    write(tmp_path, main=NESTED)
    (tmp_path / "pyproject.toml").write_text('[tool.tpulint]\nignored = ["TPU201"]\n')
    out = flake8(plugin, tmp_path, "main.py").out
    assert out.startswith("main.py:1:1: TPU000 configuration: ")
    assert "did you mean 'ignore'?" in out


def test_standard_input(plugin: Path, tmp_path: Path) -> None:
    arguments = ("--stdin-display-name", "main.py", "-")
    assert flake8(plugin, tmp_path, *arguments, data=NESTED.encode()).out.startswith(FAULT)


def test_odd_files(plugin: Path, tmp_path: Path) -> None:
    write(tmp_path, empty="", odd="\ufeff" + NESTED, windows="")
    (tmp_path / "windows.py").write_bytes(NESTED.replace("\n", "\r\n").encode())
    latin = "# coding: latin-1\n# \u00e9\n" + NESTED
    (tmp_path / "latin.py").write_bytes(latin.encode("latin-1"))
    actual = [line.split(": ")[0] for line in flake8(plugin, tmp_path).out.splitlines()]
    assert sorted(actual) == ["./latin.py:11:12", "./odd.py:9:12", "./windows.py:9:12"]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The plugin's module, in a project of one sound file."""
    monkeypatch.syspath_prepend(str(ROOT / "plugins/flake8"))
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "main.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return importlib.import_module("flake8_tpulint")


def test_it_never_raises(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise RuntimeError("out of\norder")

    monkeypatch.setattr(driver, "check", broken)
    plugin = module.Plugin(ast.parse(""), ["x = 1\n"], "main.py")
    ((row, column, message, kind),) = plugin.run()
    assert (row, column, kind) == (1, 0, module.Plugin)
    assert message.startswith("TPU000 internal error: RuntimeError: out of order at ")


def test_a_failure_is_reported_once(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def partly(*_: object) -> Analysis:
        return Analysis(failures=(RuleFailure("TPU101", "KeyError: 1"),))

    monkeypatch.setattr(driver, "analyze", partly)
    ((_, _, message, _),) = module.Plugin(ast.parse(""), ["x = 1\n"], "main.py").run()
    assert message == "TPU000 internal error in rule TPU101: KeyError: 1"
    assert not list(module.Plugin(ast.parse(""), ["x = 1\n"], "main.py").run())


def test_a_project_is_understood_once(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "below").mkdir()
    write(tmp_path / "below", plain="x = 1\n")
    write(tmp_path, main=ACROSS, helper=HELPER)
    (tmp_path / "windows.py").write_bytes(b"\xef\xbb\xbf" + NESTED.replace("\n", "\r\n").encode())
    filenames = []
    analyze = driver.analyze

    def counted(*arguments: Any) -> Analysis:
        filenames.append(arguments)
        return analyze(*arguments)

    monkeypatch.setattr(driver, "analyze", counted)

    def codes(name: str, text: str) -> list[str]:
        rows = module.Plugin(ast.parse(""), text.splitlines(keepends=True), f"{name}.py").run()
        return [message.split()[0] for _, _, message, _ in rows]

    assert codes("main", ACROSS) == []
    assert codes("helper", HELPER) == ["TPU201"]
    assert codes("windows", NESTED) == ["TPU201"]  # flake8 drops the mark and the line ends
    assert codes("below/plain", "x = 1\n") == []
    assert len(filenames) == 1
    assert codes("main", "x = 1\n") == []  # what an editor has not saved is analysed anew
    assert codes("helper", HELPER.replace("tf.tpu.outside_compilation", "map")) == []
    assert len(filenames) == 3


def test_what_the_project_leaves_out_is_left_out(plugin: Path, tmp_path: Path) -> None:
    write(tmp_path, main=NESTED, made=NESTED, old=NESTED)
    (tmp_path / "script").write_text(NESTED)
    (tmp_path / "pyproject.toml").write_text('[tool.tpulint]\nexclude = ["old.py"]\n')
    (tmp_path / ".gitignore").write_text("made.py\n")
    out = flake8(plugin, tmp_path, "main.py", "made.py", "old.py", "script").out
    assert [line.split(":")[0] for line in out.splitlines()] == ["main.py", "script"]
    arguments = ("--stdin-display-name", "old.py", "-")
    assert flake8(plugin, tmp_path, *arguments, data=b"#\n" + NESTED.encode()).out == ""


def test_nothing_is_parsed_where_no_file_names_the_seam(plugin: Path, tmp_path: Path) -> None:
    write(tmp_path, plain="x = 1\n", other="y = 1\n")
    (tmp_path / "pyproject.toml").write_text("")
    script = (
        "import sys\n"
        "from flake8.main.cli import main\n"
        "assert main(['--isolated', '-j1', '--select=TPU', '.']) == 0\n"
        "assert 'tpulint.check.per_file' in sys.modules\n"
        "assert not {'libcst', 'tensorflow', 'tpulint.rules'} & set(sys.modules)\n"
    )
    answer = run([sys.executable, "-c", script], tmp_path, None, plugin)
    assert (answer.status, answer.err) == (0, "")


def test_it_stays_small() -> None:
    text = (ROOT / "plugins/flake8/flake8_tpulint/__init__.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
