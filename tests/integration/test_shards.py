"""The merged reports of shards are the report of one run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.integration.conftest import ROOT
from tpulint.cli.main import main

FORMATS = ("json", "jsonl", "sarif")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples, a notebook, and a requirement that misses names of both."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    cells = [
        {"cell_type": "code", "source": ["import tensorflow as tf\n"], "metadata": {}},
        {"cell_type": "code", "source": ["tf.contrib.tpu.rewrite(f)\n"] * 2, "metadata": {}},
    ]
    (tmp_path / "notebook.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text(
            "import tensorflow as tf\ntf.estimator.Estimator\ntf.contrib.tpu.shard\n"
        )
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.12\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(*arguments: str) -> int:
    return main(["check", "--no-cache", "--certainty", "possible", *arguments])


@pytest.mark.parametrize("style", FORMATS)
@pytest.mark.parametrize("count", [1, 3])
def test_the_merged_report_is_that_of_one_run(folder: Path, style: str, count: int) -> None:
    wanted = ["--output-format", style]
    assert checked(*wanted, "-o", "whole", ".") == 1
    parts = [f"part-{number}" for number in range(1, count + 1)]
    for number, part in enumerate(parts, 1):
        assert checked(*wanted, "-o", part, "--shard", f"{number}/{count}", ".") in (0, 1)
    assert main(["merge", "-o", "merged", *reversed(parts)]) == 1
    whole = Path("whole").read_bytes()
    assert whole.count(b"TPU") >= 4
    assert Path("merged").read_bytes() == whole


def test_shards_of_what_is_right_are_merged_to_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("clean.json").write_text("[]\n")
    assert main(["merge", "clean.json", "clean.json"]) == 0
    assert capsys.readouterr().out == "[]\n"


def test_the_status_of_findings_can_be_left_out(folder: Path) -> None:
    checked("--output-format", "json", "-o", "all.json", "examples")
    assert main(["merge", "all.json", "-o", "merged.json"]) == 1
    assert main(["merge", "all.json", "-o", "merged.json", "--exit-zero"]) == 0


@pytest.mark.parametrize("value", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", "1/2/3"])
def test_a_shard_that_is_none_is_refused(
    folder: Path, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(f"--shard={value}") == 2
    assert f"--shard: {value!r} is not K/N" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("[]", "{}", "of different formats"),
        ("nothing", "nothing", "neither JSON"),
        ('{"a": 1}', "", "neither JSON"),
        ("[]", None, "cannot be read"),
    ],
)
def test_reports_that_cannot_be_merged(
    folder: Path, first: str, second: str | None, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a").write_text(first)
    if second is not None:
        Path("b").write_text(second)
    assert main(["merge", "a", "b"]) == 2
    assert reason in capsys.readouterr().err


def test_standard_input_has_no_shards(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked("--shard", "1/2", "-") == 2
    assert "cannot be combined with --shard" in capsys.readouterr().err
