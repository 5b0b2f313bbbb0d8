"""A check that knows of the last one finds what a check from the beginning finds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.pipeline import driver
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.warm import Superseded, Warm

NAMED = 'y = tf.compat.v1.tpu.rewrite(step, [1.0], name="y")\n'
ONE = f"import tensorflow as tf\nfrom shared import step\n{NAMED}"
OTHER = f"import tensorflow as tf\nfrom alone import step\n{NAMED}"
STEP = "import tensorflow as tf\ndef step(x):\n    return tf.constant(2.0) * x\n"
FAULT = "import tensorflow as tf\ndef step(x):\n    return tf.io.decode_raw(x, tf.float32)\n"
PROJECT = {"one.py": ONE, "two.py": ONE, "shared.py": STEP, "other.py": OTHER, "alone.py": STEP}


class Desk:
    """A project with a warm check, which counts the programs that it reads."""

    def __init__(self, folder: Path, files: Mapping[str, str], patch: pytest.MonkeyPatch) -> None:
        patch.chdir(folder)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        self.folder = folder
        self.names = sorted(files)
        self.read: list[Sequence[str]] = []
        self.warm = Warm()
        read_program = driver.read_program

        def counted(batch: Batch, job: Job, *given: Any) -> object:
            if given[-1] is not None:  # not the comparison below, which keeps nothing
                self.read.append(job.seeds)
            return read_program(batch, job, *given)

        patch.setattr(driver, "read_program", counted)

    def check(self, first: str | None = None, **unsaved: str) -> Analysis:
        given = {f"{name}.py": text.encode() for name, text in unsaved.items()}
        path = None if first is None else os.path.abspath(first)
        self.read.clear()
        self.warm.take(given, path)
        task = driver.Task(driver.Request(Config(jobs=1), frozenset(CODES)), tuple(self.names))
        found = driver.analyze(task, given, self.warm)
        if not self.warm.incomplete:
            fresh = driver.analyze(task, given)
            assert sorted(found.findings) == sorted(fresh.findings)
            assert (found.marked, found.skipped) == (fresh.marked, fresh.skipped)
        return found


def codes(found: Analysis) -> list[str]:
    return sorted(each.code for each in found.findings)


def test_only_the_programs_of_an_edited_file_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, PROJECT, monkeypatch)
    assert codes(desk.check()) == ["TPU405"] * 3
    assert sorted(desk.read) == [("one.py", "two.py"), ("other.py",)]
    desk.check()
    assert desk.read == []
    assert codes(desk.check(shared=FAULT)) == ["TPU405"] * 3 + ["TPU501"]
    assert desk.read == [("one.py", "two.py")]
    assert codes(desk.check(alone=FAULT)) == ["TPU405"] * 3 + ["TPU501"]
    assert sorted(desk.read) == [("one.py", "two.py"), ("other.py",)]


def test_a_new_import_binds_programs_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, PROJECT, monkeypatch)
    desk.check()
    desk.check(other=OTHER.replace("alone", "shared"))
    assert desk.read == [("one.py", "other.py", "two.py")]
    desk.check()
    assert sorted(desk.read) == [("one.py", "two.py"), ("other.py",)]


def test_a_changed_disk_is_read_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path, PROJECT, monkeypatch)
    desk.check()
    (tmp_path / "alone.py").write_text(FAULT, encoding="utf-8")
    desk.warm.forget(["alone.py"])
    assert "TPU501" in codes(desk.check())
    assert desk.read == [("other.py",)]
    (tmp_path / "alone.py").unlink()
    (tmp_path / "new.py").write_text(ONE, encoding="utf-8")
    desk.names = sorted({*desk.names, "new.py"} - {"alone.py"})
    desk.warm.begin_anew()
    assert codes(desk.check()) == ["TPU405"] * 4


def test_the_edited_files_part_of_a_program_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, PROJECT, monkeypatch)
    desk.check()
    edited = ONE.replace(', name="y"', "")
    desk.check("one.py", one=ONE + "\n")
    assert desk.read == [("one.py", "two.py")]  # nobody has looked if its part says the same
    desk.warm.rehearse(os.path.abspath("one.py"))
    found = desk.check("one.py", one=edited)
    assert desk.warm.incomplete
    assert desk.read == [("one.py",)]
    assert codes(found) == ["TPU405"] * 2
    assert codes(desk.check(one=edited)) == ["TPU405"] * 2
    assert desk.read == [("one.py", "two.py")]
    assert not desk.warm.incomplete


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
    desk = Desk(tmp_path, {"model.py": model, "train.py": estimator}, monkeypatch)
    assert codes(desk.check()) == []
    desk.warm.rehearse(os.path.abspath("model.py"))
    assert desk.read == [("model.py", "train.py"), ("model.py",)]
    assert codes(desk.check("model.py", model=f"{model}\n")) == []
    assert desk.read == [("model.py", "train.py")]
    assert not desk.warm.incomplete


def test_a_superseded_check_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path, PROJECT, monkeypatch)
    steps = [0]

    def checkpoint() -> None:
        steps[0] += 1
        if steps[0] > limit:
            raise Superseded

    desk.warm = Warm(checkpoint)
    for limit in range(0, 60, 7):
        steps[0] = 0
        with pytest.raises(Superseded):
            desk.check(shared=f"{STEP}# {limit}\n")
    limit = 10_000
    assert codes(desk.check(shared=FAULT)) == ["TPU405"] * 3 + ["TPU501"]
