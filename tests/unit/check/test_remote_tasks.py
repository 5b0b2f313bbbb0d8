"""A program that is analyzed away from its files."""

from __future__ import annotations

import os
import pickle
import zlib
from pathlib import Path

import pytest

from tpulint.absint.resolver.import_graph import Files, ImportGraph
from tpulint.check.cluster import (
    Missing,
    expected_snapshot,
    run_task,
    serialize,
    this_analyzer,
    with_shown_names,
)
from tpulint.check.driver import analyze_program
from tpulint.check.programs import prefilter, split_into_programs
from tpulint.disk import Disk
from tpulint.frontends.settings import Settings
from tpulint.frontends.tensorflow.knowledge.tf_names import INSTALLED
from tpulint.frontends.tensorflow.target_release import Targets
from tpulint.incremental.model import Analysis, Batch, Job

STEP = """
import tensorflow.compat.v1 as tf
from parts import layers

def computation(x):
    v = tf.get_variable("v", [2], use_resource=False)
    return tf.tpu.outside_compilation(layers.shown, x + v)

tf.tpu.replicate(computation, [[tf.zeros([2])]])
"""
LAYERS = """
import tensorflow.compat.v1 as tf

def shown(x):
    return tf.tpu.outside_compilation(tf.abs, x)
"""


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """A program in two folders, one of them beside the working directory."""
    work = tmp_path / "work"
    (work / "parts").mkdir(parents=True)
    (work / "step.py").write_text(STEP)
    (work / "parts" / "__init__.py").write_text("")
    (work / "parts" / "layers.py").write_text(LAYERS)
    (work / "requirements.txt").write_text("tensorflow==2.12\n")
    monkeypatch.chdir(work)
    names = tuple(sorted(("step.py", "parts/layers.py", "parts/__init__.py"), key=os.path.abspath))
    codes = frozenset(f"TPU{number}" for number in range(1000))
    return Batch(names, frozenset(), Disk(), codes, Settings())


def only_job(batch: Batch) -> Job:
    prefiltered = prefilter(batch, batch.filenames, Targets())
    (job,) = split_into_programs(
        batch, prefiltered, ImportGraph(Files(installed=INSTALLED)), batch.disk
    )
    return job


def elsewhere(data: bytes, monkeypatch: pytest.MonkeyPatch, folder: Path) -> object:
    """The answer of a machine that does not have the files."""
    here = Path.cwd()
    gone = here.with_name("gone")
    here.rename(gone)
    monkeypatch.chdir(folder)
    try:
        return run_task(this_analyzer(), data)
    finally:
        gone.rename(here)
        monkeypatch.chdir(here)


def test_what_is_found_without_the_files_is_what_is_found_with_them(
    batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = only_job(batch)
    here = analyze_program(batch, job)
    data = serialize(batch, job, analyze_program, expected_snapshot(batch, job))
    answer = elsewhere(data, monkeypatch, tmp_path)
    assert isinstance(answer, Analysis)
    actual = with_shown_names(
        answer, {os.path.abspath(filename): filename for filename in batch.filenames}
    )
    assert here.findings
    assert actual.findings == here.findings
    assert actual.dependencies == here.dependencies
    assert actual.skipped == here.skipped
    assert actual.programs == here.programs


def test_a_module_that_is_no_file_of_the_run_keeps_its_name(
    batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = batch._replace(filenames=("step.py",))
    job = only_job(batch)
    here = analyze_program(batch, job)
    data = serialize(batch, job, analyze_program, expected_snapshot(batch, job))
    answer = elsewhere(data, monkeypatch, tmp_path)
    assert isinstance(answer, Analysis)
    actual = with_shown_names(answer, {os.path.abspath("step.py"): "step.py"})
    named = {step.span.filename for finding in here.findings for step in finding.trace}
    assert "parts/layers.py" in named
    assert actual.findings == here.findings


def test_what_was_left_out_is_asked_for(batch: Batch) -> None:
    job = only_job(batch)
    snapshot = expected_snapshot(batch, job)
    path, folder = os.path.abspath("parts/layers.py"), os.path.abspath("parts")
    del snapshot.files[path]
    task = serialize(batch, job, analyze_program, snapshot)
    assert run_task(this_analyzer(), task) == Missing(files=(path,))
    snapshot.add(batch.disk, files=(path,))
    del snapshot.folders[folder]
    task = serialize(batch, job, analyze_program, snapshot)
    assert run_task(this_analyzer(), task) == Missing(folders=(folder,))
    snapshot.add(batch.disk, folders=(folder,))
    task = serialize(batch, job, analyze_program, snapshot)
    assert isinstance(run_task(this_analyzer(), task), Analysis)


def test_what_another_analyzer_sends_is_not_read(batch: Batch) -> None:
    job = only_job(batch)
    data = serialize(batch, job, analyze_program, expected_snapshot(batch, job))
    other = this_analyzer()._replace(libcst="0.1")
    assert run_task(other, data) == this_analyzer()
    assert run_task(other, b"of another release") == this_analyzer()


def test_a_task_holds_the_program_and_no_other(batch: Batch) -> None:
    Path("alone.py").write_text("x = 1\n")
    batch = batch._replace(filenames=("alone.py", *batch.filenames))
    job = only_job(batch)
    data = zlib.decompress(serialize(batch, job, analyze_program, expected_snapshot(batch, job)))
    _, _, part = pickle.loads(data)
    assert [os.path.basename(filename) for filename in part.filenames] == [
        "__init__.py",
        "layers.py",
        "step.py",
    ]
