"""An edit that keeps size and time is noticed, and a link that leads elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.finding import Certainty
from tpulint.pipeline import driver
from tpulint.pipeline.stamps import TICK, stamp
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
    time.sleep(3 * TICK / 1e9)


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
    return [each.code for each in driver.check(driver.discover(request)).findings]


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
        return [each.code for found in snapshot.findings.values() for each in found]

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

    def read_and_edit(*given: object) -> object:
        built = read_program(*given)  # type: ignore[arg-type]
        write(project / "net.py", SOUND)
        return built

    with monkeypatch.context() as patch:
        patch.setattr(driver, "read_program", read_and_edit)
        assert "TPU501" in codes_of_check(project)
    assert "TPU501" not in codes_of_check(project)
