"""An edit that keeps size and time is noticed, and a link that leads elsewhere."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tpulint.check import driver
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.disk import MODULES, REQUIREMENTS, Disk
from tpulint.finding import Certainty
from tpulint.incremental.disk import (
    CLOCK_LAG_NS,
    CheckedDisk,
    DiskSnapshot,
    NotInSnapshot,
    TrackedDisk,
    digest_of,
    stamp,
)
from tpulint.server.project import ClientSettings, ServerProject

EARLIER = time.time() - 100
FAULT = "import tensorflow as tf\ndef step(x):\n    return tf.io.decode_raw(x, tf.float32)\n"
CALL = "io.decode_raw(x, tf.float32)"
SOUND = FAULT.replace(CALL, "math.add(x, x)".ljust(len(CALL)))
MAIN = "import tensorflow as tf\nfrom net import step\ny = tf.compat.v1.tpu.rewrite(step, [1.0])\n"
NEW, OLD = "tensorflow==2.16\n", "tensorflow==1.15\n"
ESTIMATOR = "import tensorflow as tf\nx = tf.estimator.tpu.TPUEstimator\n"  # not in 2.16
Edit = Callable[[Path, str], None]


def settle() -> None:
    """Wait until no file is taken for one that is changing now."""
    time.sleep(3 * CLOCK_LAG_NS / 1e9)


def write(path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, (EARLIER, EARLIER))


def write_anew(path: Path, text: str) -> None:
    write(path.with_name("new"), text)
    path.with_name("new").replace(path)


def lead_elsewhere(path: Path, text: str) -> None:
    target = path.with_name(f"target-{len(list(path.parent.iterdir()))}")
    write(target, text)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


EDITS = [write, write_anew, lead_elsewhere]


@pytest.fixture(params=EDITS, ids=lambda edit: edit.__name__)
def edit(request: pytest.FixtureRequest) -> Edit:
    changed: Edit = request.param
    return changed


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write(folder / "main.py", MAIN)
    return folder


def codes_of_check(project: Path) -> list[str]:
    settle()
    config = Config(root=str(project), certainty=Certainty.POSSIBLE, jobs=1)
    request = driver.Request(config, frozenset(CODES), cache=str(project / ".tpulint_cache"))
    return [finding.code for finding in driver.check(driver.discover(request)).findings]


def test_a_stamp_changes_with_the_file(tmp_path: Path, edit: Edit) -> None:
    path = tmp_path / "a.py"
    edit(path, "x = 1\n")
    before, seen = stamp(path.as_posix()), path.stat()
    settle()
    edit(path, "x = 2\n")
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (seen.st_size, seen.st_mtime_ns)
    assert stamp(path.as_posix()) not in (before, None)


def test_an_edit_of_a_module_that_keeps_size_and_time(project: Path, edit: Edit) -> None:
    edit(project / "net.py", FAULT)
    assert "TPU501" in codes_of_check(project)
    assert "TPU501" in codes_of_check(project)
    edit(project / "net.py", SOUND)
    assert "TPU501" not in codes_of_check(project)
    edit(project / "net.py", FAULT)
    assert "TPU501" in codes_of_check(project)


def test_an_edit_of_the_requirements_that_keeps_size_and_time(project: Path, edit: Edit) -> None:
    write(project / "main.py", ESTIMATOR)
    edit(project / "requirements.txt", NEW)
    assert codes_of_check(project) == ["TPU802"]
    edit(project / "requirements.txt", OLD)
    assert codes_of_check(project) == []
    edit(project / "requirements.txt", NEW)
    assert codes_of_check(project) == ["TPU802"]


def test_an_edit_of_an_ignore_file_that_keeps_size_and_time(project: Path, edit: Edit) -> None:
    (project / ".git").mkdir()
    write(project / "main.py", ESTIMATOR)
    write(project / "requirements.txt", NEW)
    edit(project / ".gitignore", "main.py\n")
    assert codes_of_check(project) == []
    edit(project / ".gitignore", "niam.py\n")
    assert codes_of_check(project) == ["TPU802"]


def test_the_server_notices_such_an_edit(project: Path, edit: Edit) -> None:
    def codes() -> list[str]:
        settle()
        server.look_again()
        snapshot = server.analyze({})
        assert snapshot is not None
        return [item.code for finding in snapshot.findings.values() for item in finding]

    server = ServerProject(str(project), ClientSettings())
    edit(project / "net.py", FAULT)
    assert "TPU501" in codes()
    edit(project / "net.py", SOUND)
    assert "TPU501" not in codes()


def test_a_file_that_changes_during_a_check_is_not_kept(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is one that keeps its size and time, and changes after it was read."""
    write(project / "net.py", FAULT)
    settle()
    read_program = driver.read_program

    def read_and_edit(*arguments: object) -> object:
        built = read_program(*arguments)  # type: ignore[arg-type]
        write(project / "net.py", SOUND)
        return built

    with monkeypatch.context() as patch:
        patch.setattr(driver, "read_program", read_and_edit)
        assert "TPU501" in codes_of_check(project)
    assert "TPU501" not in codes_of_check(project)


def test_questions_are_recorded_with_their_answers(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "setup.py").write_text("")
    disk = TrackedDisk(CheckedDisk())
    folder, path, missing = str(tmp_path), str(tmp_path / "a.py"), str(tmp_path / "b.py")
    disk.read(path)
    with pytest.raises(FileNotFoundError):
        disk.read(missing)
    assert disk.has(folder, "a.py")
    assert not disk.exists(str(tmp_path / ".git"))
    disk.listing(folder, REQUIREMENTS)
    dependencies = disk.dependencies
    assert dependencies.files == {path: digest_of(b"x = 1\n"), missing: ""}
    assert (dependencies.present, dependencies.absent) == ({folder: {"a.py"}}, {folder: {".git"}})
    assert dependencies.listings == {(REQUIREMENTS, folder): ["setup.py"]}
    assert CheckedDisk().answers_as_before(dependencies)


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.py", "x = 2\n"), ("b.py", ""), ("requirements.txt", ""), (".git", "")],
    ids=["another content", "a file that was missing", "another requirement file", "a name"],
)
def test_another_answer_is_noticed(tmp_path: Path, name: str, text: str) -> None:
    test_questions_are_recorded_with_their_answers(tmp_path)
    disk = TrackedDisk(CheckedDisk())
    for path in (tmp_path / "a.py", tmp_path / "b.py"):
        with contextlib.suppress(OSError):
            disk.read(str(path))
    disk.exists(str(tmp_path / ".git"))
    disk.listing(str(tmp_path), REQUIREMENTS)
    (tmp_path / "unrelated.toml").write_text("")
    assert CheckedDisk().answers_as_before(disk.dependencies)
    (tmp_path / name).write_text(text)
    assert not CheckedDisk().answers_as_before(disk.dependencies)
    unsaved = {str(tmp_path / name): text.encode()}
    (tmp_path / name).unlink()
    assert not CheckedDisk(unsaved).answers_as_before(disk.dependencies)


def test_a_file_that_changes_between_two_reads_fits_no_result(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    disk = TrackedDisk(CheckedDisk())
    disk.read(str(path))
    assert disk.dependencies.is_consistent
    path.write_text("x = 2\n")
    disk.read(str(path))
    assert not disk.dependencies.is_consistent


def test_a_snapshot_answers_as_the_disk_did(tmp_path: Path) -> None:
    file, missing = str(tmp_path / "file"), str(tmp_path / "missing")
    Path(file).write_bytes(b"text")
    disk = TrackedDisk(Disk())
    disk.read(file)
    assert not disk.exists(missing)
    with pytest.raises(FileNotFoundError):
        disk.read(missing)
    snapshot = DiskSnapshot()
    snapshot.add_answers(Disk(), disk.dependencies)
    Path(file).unlink()
    assert snapshot.read(file) == b"text"
    assert snapshot.listing(str(tmp_path), MODULES) == {"file"}
    assert not snapshot.exists(missing)
    with pytest.raises(FileNotFoundError):
        snapshot.read(missing)


def test_a_snapshot_does_not_guess() -> None:
    disk = DiskSnapshot()
    with pytest.raises(NotInSnapshot) as caught:
        disk.read("/file")
    assert (caught.value.path, caught.value.is_folder) == ("/file", False)
    with pytest.raises(NotInSnapshot) as caught:
        disk.has("/folder", "file")
    assert (caught.value.path, caught.value.is_folder) == ("/folder", True)
