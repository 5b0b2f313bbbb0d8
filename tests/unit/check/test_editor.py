"""A check that knows of the last one finds what a check from the beginning finds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tpulint.check import driver
from tpulint.check.editor import Cancelled, EditorState
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.incremental.model import Analysis, Batch, Job

NAMED = 'y = tf.compat.v1.tpu.rewrite(step, [1.0], name="y")\n'
ONE = f"import tensorflow as tf\nfrom shared import step\n{NAMED}"
OTHER = f"import tensorflow as tf\nfrom alone import step\n{NAMED}"
STEP = "import tensorflow as tf\ndef step(x):\n    return tf.constant(2.0) * x\n"
FAULT = "import tensorflow as tf\ndef step(x):\n    return tf.io.decode_raw(x, tf.float32)\n"
PROJECT = {"one.py": ONE, "two.py": ONE, "shared.py": STEP, "other.py": OTHER, "alone.py": STEP}


class OpenProject:
    """A project in an editor, which counts the programs that it reads."""

    def __init__(self, folder: Path, files: Mapping[str, str], patch: pytest.MonkeyPatch) -> None:
        patch.chdir(folder)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        self.folder = folder
        self.names = sorted(files)
        self.read: list[Sequence[str]] = []
        self.state = EditorState(driver.build_and_check)
        read_program = driver.read_program

        def counted(batch: Batch, job: Job, *arguments: Any) -> object:
            if arguments[-1] is not None:  # not the comparison below, which keeps nothing
                self.read.append(job.seeds)
            return read_program(batch, job, *arguments)

        patch.setattr(driver, "read_program", counted)

    def check(self, first: str | None = None, **unsaved: str) -> Analysis:
        contents = {f"{name}.py": text.encode() for name, text in unsaved.items()}
        path = None if first is None else os.path.abspath(first)
        self.read.clear()
        self.state.lay_over(contents, path)
        task = driver.Task(driver.Request(Config(jobs=1), frozenset(CODES)), tuple(self.names))
        analysis = driver.analyze(task, contents, self.state)
        if not self.state.is_partial:
            fresh = driver.analyze(task, contents)
            assert sorted(analysis.findings) == sorted(fresh.findings)
            assert analysis.marked == fresh.marked
            assert analysis.skipped == fresh.skipped
        return analysis


def codes(analysis: Analysis) -> list[str]:
    return sorted(finding.code for finding in analysis.findings)


def test_only_the_programs_of_an_edited_file_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = OpenProject(tmp_path, PROJECT, monkeypatch)
    assert codes(project.check()) == ["TPU405"] * 3
    assert sorted(project.read) == [("one.py", "two.py"), ("other.py",)]
    project.check()
    assert project.read == []
    assert codes(project.check(shared=FAULT)) == ["TPU405"] * 3 + ["TPU501"]
    assert project.read == [("one.py", "two.py")]
    assert codes(project.check(alone=FAULT)) == ["TPU405"] * 3 + ["TPU501"]
    assert sorted(project.read) == [("one.py", "two.py"), ("other.py",)]


def test_a_new_import_binds_programs_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = OpenProject(tmp_path, PROJECT, monkeypatch)
    project.check()
    project.check(other=OTHER.replace("alone", "shared"))
    assert project.read == [("one.py", "other.py", "two.py")]
    project.check()
    assert sorted(project.read) == [("one.py", "two.py"), ("other.py",)]


def test_a_changed_disk_is_read_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = OpenProject(tmp_path, PROJECT, monkeypatch)
    project.check()
    (tmp_path / "alone.py").write_text(FAULT, encoding="utf-8")
    project.state.refresh()
    assert "TPU501" in codes(project.check())
    assert project.read == [("other.py",)]
    (tmp_path / "alone.py").unlink()
    (tmp_path / "new.py").write_text(ONE, encoding="utf-8")
    project.names = sorted({*project.names, "new.py"} - {"alone.py"})
    project.state.refresh()
    assert codes(project.check()) == ["TPU405"] * 4


def test_the_edited_files_part_of_a_program_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = OpenProject(tmp_path, PROJECT, monkeypatch)
    project.check()
    edited = ONE.replace(', name="y"', "")
    project.check("one.py", one=ONE + "\n")
    assert project.read == [("one.py", "two.py")]  # nobody has looked if its part says the same
    project.state.validate_partial_check(os.path.abspath("one.py"))
    result = project.check("one.py", one=edited)
    assert project.state.is_partial
    assert project.read == [("one.py",)]
    assert codes(result) == ["TPU405"] * 2
    assert codes(project.check(one=edited)) == ["TPU405"] * 2
    assert project.read == [("one.py", "two.py")]
    assert not project.state.is_partial


def test_a_part_that_finds_something_else_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model_fn alone may be a TPU's; the rest of the project says that it is none."""
    model = (
        "import tensorflow.compat.v1 as tf\n"
        "def model_fn(features, labels, mode, params):\n"
        "    x = tf.io.decode_raw(features, tf.float32)\n"
        "    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=x)\n"
    )
    estimator = (
        "import tensorflow.compat.v1 as tf\n"
        "import registry\n"
        "tf.estimator.tpu.TPUEstimator(registry.found(), use_tpu=False)\n"
    )
    project = OpenProject(tmp_path, {"model.py": model, "train.py": estimator}, monkeypatch)
    assert codes(project.check()) == []
    project.state.validate_partial_check(os.path.abspath("model.py"))
    assert project.read == [("model.py", "train.py"), ("model.py",)]
    assert codes(project.check("model.py", model=f"{model}\n")) == []
    assert project.read == [("model.py", "train.py")]
    assert not project.state.is_partial


def test_a_superseded_check_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = OpenProject(tmp_path, PROJECT, monkeypatch)
    steps = [0]

    def checkpoint() -> None:
        steps[0] += 1
        if steps[0] > limit:
            raise Cancelled

    project.state = EditorState(driver.build_and_check, checkpoint)
    for limit in range(0, 60, 7):
        steps[0] = 0
        with pytest.raises(Cancelled):
            project.check(shared=f"{STEP}# {limit}\n")
    limit = 10_000
    assert codes(project.check(shared=FAULT)) == ["TPU405"] * 3 + ["TPU501"]
