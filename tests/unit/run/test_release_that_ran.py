"""The findings in the files that ran are for the TensorFlow that ran, unless one is stated."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.programs import OPTIMIZER_OUTSIDE
from tpulint.run.explain import explain, release_that_ran


@pytest.mark.parametrize(
    ("release", "required", "codes"),
    [
        (None, "", ["TPU702"]),
        ("2.21", "", ["TPU702"]),
        ("2.12", "", []),
        ("2.12", "tensorflow>=2.16", ["TPU702"]),
        ("2.21", "tensorflow<2.16", []),
    ],
)
def test_false_alarm_the_release_that_ran_counts_where_none_is_stated(
    tmp_path: Path, release: str | None, required: str, codes: list[str]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text(required)
    program = tmp_path / "train.py"
    program.write_text(OPTIMIZER_OUTSIDE)
    actual = explain([], str(program), [str(program)], release).checked.findings
    assert [item.code for item in actual] == codes


@pytest.mark.parametrize(
    ("version", "release"),
    [("2.12.1", "2.12"), ("2.21.0-rc1", "2.21"), ("1.15", "1.15"), ("", None), ("local", None)],
)
def test_the_release_that_is_imported(
    monkeypatch: pytest.MonkeyPatch, version: str, release: str | None
) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(__version__=version))
    assert release_that_ran() == release
    monkeypatch.delitem(sys.modules, "tensorflow")
    assert release_that_ran() is None
