"""A program that is read out of a parcel, away from its files."""

from __future__ import annotations

import os
import pickle
import zlib
from pathlib import Path

import pytest

from tpulint.analysis.options import Settings
from tpulint.pipeline import parcel
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.jobs import Job, Run
from tpulint.pipeline.parcel import Other, packed, read_parcel, recorded, unpacked
from tpulint.pipeline.programs import one_program, programs
from tpulint.pipeline.screen import screen
from tpulint.pipeline.snapshot import READ, NotInSnapshot, Recorder, Snapshot

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
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
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
    return Run(names, frozenset(), {}, codes, Settings(), None)


def only_job(run: Run) -> Job:
    (job,) = programs(run, screen(run.filenames, {}, run.settings))
    return job


def elsewhere(run: Run, data: bytes, monkeypatch: pytest.MonkeyPatch, folder: Path) -> object:
    """The answer of a machine that does not have the files."""
    here = Path.cwd()
    gone = here.with_name("gone")
    here.rename(gone)
    monkeypatch.chdir(folder)
    try:
        return read_parcel(data)
    finally:
        gone.rename(here)
        monkeypatch.chdir(here)


def test_what_is_found_without_the_files_is_what_is_found_with_them(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = only_job(run)
    here = one_program(run, job)
    data = packed(run, job, recorded(run, job).answers)
    answer = elsewhere(run, data, monkeypatch, tmp_path)
    assert isinstance(answer, Analysis)
    found = unpacked(answer, {os.path.abspath(each): each for each in run.filenames})
    assert here.findings
    assert found.findings == here.findings
    assert found.inputs == here.inputs
    assert (found.imported, found.skipped, found.read) == (here.imported, here.skipped, here.read)


def test_a_module_that_is_no_file_of_the_run_keeps_its_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run._replace(filenames=("step.py",))
    job = only_job(run)
    here = one_program(run, job)
    data = packed(run, job, recorded(run, job).answers)
    answer = elsewhere(run, data, monkeypatch, tmp_path)
    assert isinstance(answer, Analysis)
    found = unpacked(answer, {os.path.abspath("step.py"): "step.py"})
    named = {step.span.filename for each in here.findings for step in each.trace}
    assert "parts/layers.py" in named
    assert found.findings == here.findings


def test_what_was_left_out_is_asked_for(run: Run) -> None:
    job = only_job(run)
    recorder = recorded(run, job)
    path = os.path.abspath("parts/layers.py")
    del recorder.answers.files[path]
    question = read_parcel(packed(run, job, recorder.answers))
    assert question == (READ, path)
    recorder.ask(question)
    assert isinstance(read_parcel(packed(run, job, recorder.answers)), Analysis)


def test_another_analyzer_reads_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    job = only_job(run)
    data = packed(run, job, recorded(run, job).answers)
    other = parcel.this_analyzer()._replace(libcst="0.1")
    monkeypatch.setattr(parcel, "this_analyzer", lambda: other)
    assert read_parcel(data) == Other(other)


def test_a_parcel_holds_the_program_and_no_other(run: Run) -> None:
    Path("alone.py").write_text("x = 1\n")
    run = run._replace(filenames=("alone.py", *run.filenames))
    job = only_job(run)
    data = zlib.decompress(packed(run, job, recorded(run, job).answers))
    assert [os.path.basename(each) for each in pickle.loads(data).filenames] == [
        "__init__.py",
        "layers.py",
        "step.py",
    ]


def test_a_snapshot_answers_as_the_disk_did(tmp_path: Path) -> None:
    file, missing = str(tmp_path / "file"), str(tmp_path / "missing")
    Path(file).write_bytes(b"text")
    recorder = Recorder()
    assert recorder.read(file) == b"text"
    assert recorder.names(str(tmp_path)) == ["file"]
    assert not recorder.exists(missing)
    with pytest.raises(FileNotFoundError):
        recorder.read(missing)
    snapshot = Snapshot(recorder.answers)
    Path(file).unlink()
    assert snapshot.read(file) == b"text"
    assert snapshot.names(str(tmp_path)) == ["file"]
    assert not snapshot.exists(missing)
    with pytest.raises(FileNotFoundError):
        snapshot.read(missing)


def test_a_snapshot_does_not_guess(tmp_path: Path) -> None:
    with pytest.raises(NotInSnapshot) as caught:
        Snapshot(Recorder().answers).read("/file")
    assert caught.value.question == (READ, "/file")
