"""A program that is read out of a parcel, away from its files."""

from __future__ import annotations

import os
import pickle
import zlib
from pathlib import Path

import pytest

from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.files import Files
from tpulint.analysis.resolver.import_graph import ImportGraph
from tpulint.knowledge.seam import INSTALLED
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.driver import analyze_program, prefilter_files
from tpulint.pipeline.parcel import (
    OtherAnalyzer,
    packed,
    read_parcel,
    recorded,
    this_analyzer,
    unpacked,
)
from tpulint.pipeline.programs import split_into_programs
from tpulint.pipeline.snapshot import READ, DiskSnapshot, NotInSnapshot, RecordingDisk

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
    (tmp_path / "cache").mkdir()
    names = tuple(sorted(("step.py", "parts/layers.py", "parts/__init__.py"), key=os.path.abspath))
    codes = frozenset(f"TPU{number}" for number in range(1000))
    return Batch(names, frozenset(), {}, codes, Settings(), str(tmp_path / "cache"))


def only_job(batch: Batch) -> Job:
    graph = ImportGraph(Files({}, installed=INSTALLED))
    (job,) = split_into_programs(batch, prefilter_files(batch, batch.filenames), graph)
    return job


def elsewhere(data: bytes, monkeypatch: pytest.MonkeyPatch, folder: Path) -> object:
    """The answer of a machine that does not have the files."""
    here = Path.cwd()
    gone = here.with_name("gone")
    here.rename(gone)
    monkeypatch.chdir(folder)
    try:
        return read_parcel(this_analyzer(), data)
    finally:
        gone.rename(here)
        monkeypatch.chdir(here)


def test_what_is_found_without_the_files_is_what_is_found_with_them(
    batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = only_job(batch)
    here = analyze_program(batch, job).analysis
    data = packed(batch, job, analyze_program, recorded(batch, job).answers)
    answer = elsewhere(data, monkeypatch, tmp_path)
    assert isinstance(answer, Analysis)
    found = unpacked(answer, {os.path.abspath(each): each for each in batch.filenames})
    assert here.findings
    assert found.findings == here.findings
    assert found.inputs == here.inputs
    assert (found.imported, found.skipped, found.read) == (here.imported, here.skipped, here.read)


def test_a_module_that_is_no_file_of_the_run_keeps_its_name(
    batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = batch._replace(filenames=("step.py",))
    job = only_job(batch)
    here = analyze_program(batch, job).analysis
    data = packed(batch, job, analyze_program, recorded(batch, job).answers)
    answer = elsewhere(data, monkeypatch, tmp_path)
    assert isinstance(answer, Analysis)
    found = unpacked(answer, {os.path.abspath("step.py"): "step.py"})
    named = {step.span.filename for each in here.findings for step in each.trace}
    assert "parts/layers.py" in named
    assert found.findings == here.findings


def test_what_was_left_out_is_asked_for(batch: Batch) -> None:
    job = only_job(batch)
    disk = recorded(batch, job)
    path = os.path.abspath("parts/layers.py")
    del disk.answers.files[path]
    question = read_parcel(this_analyzer(), packed(batch, job, analyze_program, disk.answers))
    assert question == (READ, path)
    disk.ask(question)
    assert isinstance(
        read_parcel(this_analyzer(), packed(batch, job, analyze_program, disk.answers)), Analysis
    )


def test_what_another_analyzer_packed_is_not_read(batch: Batch) -> None:
    job = only_job(batch)
    data = packed(batch, job, analyze_program, recorded(batch, job).answers)
    other = this_analyzer()._replace(libcst="0.1")
    assert read_parcel(other, data) == OtherAnalyzer(this_analyzer())
    assert read_parcel(other, b"of another release") == OtherAnalyzer(this_analyzer())


def test_a_parcel_holds_the_program_and_no_other(batch: Batch) -> None:
    Path("alone.py").write_text("x = 1\n")
    batch = batch._replace(filenames=("alone.py", *batch.filenames))
    job = only_job(batch)
    data = zlib.decompress(packed(batch, job, analyze_program, recorded(batch, job).answers))
    assert [os.path.basename(each) for each in pickle.loads(data).filenames] == [
        "__init__.py",
        "layers.py",
        "step.py",
    ]


def test_a_snapshot_answers_as_the_disk_did(tmp_path: Path) -> None:
    file, missing = str(tmp_path / "file"), str(tmp_path / "missing")
    Path(file).write_bytes(b"text")
    disk = RecordingDisk()
    assert disk.read(file) == b"text"
    assert disk.names(str(tmp_path)) == ["file"]
    assert not disk.exists(missing)
    with pytest.raises(FileNotFoundError):
        disk.read(missing)
    snapshot = DiskSnapshot(disk.answers)
    Path(file).unlink()
    assert snapshot.read(file) == b"text"
    assert snapshot.names(str(tmp_path)) == ["file"]
    assert not snapshot.exists(missing)
    with pytest.raises(FileNotFoundError):
        snapshot.read(missing)


def test_a_snapshot_does_not_guess(tmp_path: Path) -> None:
    with pytest.raises(NotInSnapshot) as caught:
        DiskSnapshot(RecordingDisk().answers).read("/file")
    assert caught.value.question == (READ, "/file")
