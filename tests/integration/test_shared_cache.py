"""`--cache-dir URL`: machines that check the same sources share what was found in them."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

from tests.integration.conftest import ROOT
from tpulint.cache_dir import DATABASE
from tpulint.check import driver
from tpulint.check.driver import BuiltProgram
from tpulint.cli.main import main
from tpulint.incremental.disk import CLOCK_LAG_NS
from tpulint.incremental.model import Batch, Job

CHECK = ["check", "--isolated", "--certainty", "possible", "--output-format", "json", "--jobs", "1"]


def machine(tmp_path: Path, name: str) -> Path:
    """A folder with the same sources as on every machine."""
    folder = tmp_path / name / "project"
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "requirements.txt").write_text("tensorflow>=2.12\n")
    earlier = time.time() - 100  # what has just been written may be written again unnoticed
    for path in folder.rglob("*"):
        os.utime(path, (earlier, earlier))
    time.sleep(3 * CLOCK_LAG_NS / 1e9)
    return folder


def checked(folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.chdir(folder)
    assert main([*CHECK, "--cache-dir", url, "-o", "../findings.json", "."]) == 1
    return Path("../findings.json").read_bytes().replace(str(folder).encode(), b"")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The programs that are read, by the files where they begin."""
    seen: list[tuple[str, ...]] = []
    read_program = driver.read_program

    def counted(batch: Batch, job: Job, *arguments: Any) -> BuiltProgram:
        seen.append(job.seeds)
        return read_program(batch, job, *arguments)

    monkeypatch.setattr(driver, "read_program", counted)
    return seen


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}://{tmp_path}/shared/cache"


def test_another_machine_reads_nothing_again(
    tmp_path: Path, url: str, read: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = checked(machine(tmp_path, "here"), url, monkeypatch)
    assert here.count(b'"code"') >= 3
    assert len(read) >= 3
    read.clear()
    there = machine(tmp_path, "there")
    (there.parent / "unrelated").mkdir()
    assert checked(there, url, monkeypatch) == here
    assert read == []
    # The facts of files, which only that machine can use, are in its own directory.
    assert (there / ".tpulint_cache" / DATABASE).is_file()


def test_requirements_are_looked_for_above_the_folder(
    tmp_path: Path, url: str, read: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there", "required"):
        folder = machine(tmp_path, name)
        (folder / "requirements.txt").unlink()
        if name == "required":
            (folder.parent / "requirements-tpu.txt").write_text("tensorflow==1.15\n")
        read.clear()
        checked(folder, url, monkeypatch)
        assert bool(read) == (name != "there")


def test_what_has_changed_there_is_read(
    tmp_path: Path, url: str, read: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = checked(machine(tmp_path, "here"), url, monkeypatch)
    read.clear()
    there = machine(tmp_path, "there")
    with (there / "examples" / "deadlock_metrics.py").open("a") as file:
        file.write("\nprint()\n")
    assert checked(there, url, monkeypatch) == here
    assert read == [("examples/deadlock_metrics.py",)]


@pytest.mark.parametrize(
    "damaged",
    [lambda entry: entry[:-40], lambda entry: entry.replace(b'"skipped"', b'"skipper"')],
    ids=["half", "altered"],
)
def test_a_damaged_entry_is_none(
    tmp_path: Path,
    url: str,
    read: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    damaged: Callable[[bytes], bytes],
) -> None:
    here = checked(machine(tmp_path, "here"), url, monkeypatch)
    programs = len(read)
    system, folder = fsspec.core.url_to_fs(url)
    for path in system.find(folder):
        system.pipe_file(path, damaged(system.cat_file(path)))
    read.clear()
    assert checked(machine(tmp_path, "there"), url, monkeypatch) == here
    assert len(read) == programs
    read.clear()
    assert checked(machine(tmp_path, "elsewhere"), url, monkeypatch) == here  # whole again
    assert read == []


def test_findings_outside_of_the_folder_are_not_taken_elsewhere(
    tmp_path: Path, url: str, read: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (machine(tmp_path, name) / "tests").mkdir()
        monkeypatch.chdir(tmp_path / name / "project" / "tests")
        read.clear()
        main([*CHECK, "--cache-dir", url, "-o", "../../found.json", "../examples"])
        assert read
        actual = (tmp_path / name / "found.json").read_text()
        assert f"{tmp_path}/{name}/project/examples/deadlock_metrics.py" in actual


def test_a_finding_outside_of_the_folder_names_the_file_of_its_own_machine(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        write(tmp_path / name / "requirements.txt", "tensorflow>=2.3\n")
        write(
            tmp_path / name / "app" / "main.py",
            "import tensorflow as tf\nx = tf.estimator.tpu.TPUEstimator\n",
        )
        monkeypatch.chdir(tmp_path / name / "app")
        assert main([*CHECK, "--cache-dir", url, "-o", "../found.json", "."]) == 1
        actual = (tmp_path / name / "found.json").read_text()
        assert f'"{tmp_path}/{name}/requirements.txt"' in actual
        assert f"{tmp_path}/here" not in actual or name == "here"


def write(path: Path, text: str) -> None:
    """Write a file that is not new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time.time() - 100,) * 2)


def check(folder: Path, url: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        checked(folder, url, patch)


def test_many_write_at_the_same_time(
    tmp_path: Path, read: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"file://{tmp_path}/shared"
    folders = [machine(tmp_path, f"machine{number}") for number in range(4)]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=check, args=(folder, url)) for folder in folders]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    last = checked(machine(tmp_path, "last"), url, monkeypatch)
    for folder in folders:
        actual = (folder / "../findings.json").read_bytes()
        assert actual.replace(str(folder).encode(), b"") == last
    assert read == []


def test_a_storage_that_fails_is_said_once_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    url = f"file://{tmp_path}/file/cache"
    findings = checked(machine(tmp_path, "here"), url, monkeypatch)
    assert findings.count(b'"code"') >= 3
    error = capsys.readouterr().err
    assert error.startswith(f"tpulint: {url} is not used as a cache: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nowhere://bucket", "--cache-dir: 'nowhere://bucket': Protocol not known: nowhere"),
        ("simplecache::nowhere://b", "Protocol not known: nowhere"),
    ],
)
def test_a_url_that_nothing_can_open_ends_the_run(
    url: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--cache-dir", url, "."]) == 2
    assert message in capsys.readouterr().err


def test_the_configuration_of_a_project_may_name_no_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = machine(tmp_path, "here")
    url = "memory://of/the/configuration"
    (folder / "tpulint.toml").write_text(f'cache-dir = "{url}"\n')
    monkeypatch.chdir(folder)
    system, path = fsspec.core.url_to_fs(url)
    assert main(["check", "-q", "."]) == 2
    assert "a URL is accepted from --cache-dir or TPULINT_CACHE_DIR only" in capsys.readouterr().err
    assert not system.exists(path)
    monkeypatch.setenv("TPULINT_CACHE_DIR", url)
    assert main(["check", "-q", "."]) == 1
    assert system.find(path)
