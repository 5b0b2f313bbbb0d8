"""tpulint writes to and deletes from only directories that it made, and follows no link out."""

from __future__ import annotations

import io
import os
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from tests.integration.conftest import Answer
from tests.integration.programs import NESTED
from tpulint.cache_dir import DATABASE, JOURNAL, SIGNATURE, TAG
from tpulint.cli.main import main
from tpulint.incremental.disk import CLOCK_LAG_NS
from tpulint.storage.objects import ObjectStore
from tpulint.storage.session import DEFAULT_FOLDER

ENTRIES = {DATABASE: "mine", JOURNAL: "mine"}
THINGS = {".gitignore": "mine", "notes.txt": "mine", "runs/experiment.log": "mine", **ENTRIES}


def tpulint(folder: Path, *arguments: str) -> Answer:
    """Run tpulint in a folder, and in this process."""
    os.chdir(folder)
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        status = main(arguments)
    for stream in streams:
        stream.seek(0)
    return Answer(status, *(stream.read() for stream in streams))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TPULINT_CACHE_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "main.py").write_text(NESTED)
    time.sleep(3 * CLOCK_LAG_NS / 1e9)  # what has just been written is not kept
    return folder


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """A directory beside the project that its user needs."""
    return fill(tmp_path / "others")


def fill(folder: Path) -> Path:
    for name, text in THINGS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_clean_keeps_the_buckets(project: Path) -> None:
    store = ObjectStore(str(project / DEFAULT_FOLDER), is_default=True)
    with store.new_file() as file:
        file.write(b"checkpoint")
    store.commit(file.name, "my-models", "run/checkpoint")
    tpulint(project, "check", ".")
    assert tpulint(project, "clean").out.startswith("Removed ")
    assert (project / DEFAULT_FOLDER / "my-models/run/checkpoint").read_text() == "checkpoint"
    assert (project / DEFAULT_FOLDER / ".gitignore").is_file()


def is_untouched(folder: Path) -> bool:
    files = {path for path in folder.rglob("*") if path.is_file()}
    return {file.relative_to(folder).as_posix(): file.read_text() for file in files} == THINGS


def configure(project: Path, place: object) -> None:
    (project / "tpulint.toml").write_text(f'cache-dir = "{place}"\n')


@pytest.mark.parametrize("way", ["relative", "absolute", "link", "link above"])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_configuration_of_the_project_names_no_place_outside(
    project: Path, tmp_path: Path, way: str, is_new: bool
) -> None:
    others = tmp_path / "others"
    others.mkdir() if is_new else fill(others)
    place = {"relative": "../others", "absolute": str(others), "link": "here"}.get(way, "up/others")
    if "link" in way:
        (project / place.partition("/")[0]).symlink_to("../others" if way == "link" else "..")
    configure(project, place)
    for command in ("check", "clean"):
        answer = tpulint(project, command)
        assert answer.status == 2
        assert answer.err.count("\n") == 1
        assert f"is outside of {project}, and accepted from --cache-dir" in answer.err
    assert not any(others.iterdir()) if is_new else is_untouched(others)


def test_a_configuration_in_a_subfolder_may_name_a_place_in_its_repository(project: Path) -> None:
    (project / ".git").mkdir()
    (project / "sub").mkdir()
    (project / "sub/main.py").write_text(NESTED)
    configure(project / "sub", "../.cache")
    assert tpulint(project / "sub", "check").status == 1
    assert (project / ".cache" / TAG).exists()


def test_the_command_line_and_the_users_own_configuration_name_any_place(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "elsewhere"
    assert tpulint(project, "check", "--cache-dir", "../elsewhere").status == 1
    assert (place / TAG).read_bytes() == SIGNATURE
    assert tpulint(project, "clean", "--cache-dir", "../elsewhere").status == 0
    assert not place.exists()
    home = tmp_path / "home"
    home.mkdir()
    configure(home, place)
    assert tpulint(project, "check", "--config", str(home / "tpulint.toml")).status == 1
    assert (place / TAG).read_bytes() == SIGNATURE
    monkeypatch.setenv("TPULINT_CACHE_DIR", str(tmp_path / "third"))
    assert tpulint(project, "check").status == 1
    assert (tmp_path / "third" / TAG).exists()


@pytest.mark.parametrize("argument", ["--cache-dir=../others", "--config=cache-dir='../others'"])
def test_a_directory_of_others_is_refused_whoever_names_it(
    project: Path, others: Path, argument: str
) -> None:
    for command in ("check", "clean"):
        answer = tpulint(project, command, argument)
        assert answer.status == 2
        assert answer.err.count("\n") == 1
        assert f"{others} is not empty, and tpulint has not created it" in answer.err
    assert is_untouched(others)


def test_a_directory_of_others_in_the_project_is_refused(project: Path) -> None:
    fill(project / "data")
    configure(project, "data")
    assert tpulint(project, "check").status == 2
    assert is_untouched(project / "data")


@pytest.mark.parametrize("is_link", [True, False])
def test_without_a_usable_default_a_check_has_no_cache(project: Path, is_link: bool) -> None:
    """An older release left such a directory where its first check was interrupted."""
    place = project / ".tpulint_cache"
    if is_link:
        fill(project.parent / "others")
        place.symlink_to("../others")
    else:
        fill(place)
    answer = tpulint(project, "check", "--output-format", "concise")
    assert answer.status == 1
    assert "TPU201" in answer.out
    assert answer.err.startswith("tpulint: warning: no cache is used: ")
    assert answer.err.count("\n") == 1
    assert tpulint(project, "clean").status == 2
    assert is_untouched(place)


def test_an_empty_directory_is_taken(project: Path) -> None:
    (project / "empty").mkdir()
    configure(project, "empty")
    assert tpulint(project, "check").status == 1
    assert (project / "empty" / TAG).read_bytes() == SIGNATURE
    assert (project / "empty/.gitignore").read_text() == "*\n"
    assert tpulint(project, "clean").out == f"Removed {project / 'empty'}\n"
    assert not (project / "empty").exists()


def test_a_link_in_a_tagged_directory_is_not_followed(project: Path, others: Path) -> None:
    """A repository may hold a directory with our tag."""
    place = project / ".tpulint_cache"
    place.mkdir()
    (place / TAG).write_bytes(SIGNATURE)
    for name in (DATABASE, JOURNAL):
        (place / name).symlink_to(others / name)
    assert tpulint(project, "check").status == 1
    assert tpulint(project, "clean").status == 0
    assert is_untouched(others)


def test_clean_leaves_what_tpulint_has_not_made(project: Path) -> None:
    assert tpulint(project, "check").status == 1
    place = project / ".tpulint_cache"
    (place / "notes.txt").write_text("mine")
    (place / "runs").mkdir()
    (place / "runs/experiment.log").write_text("mine")
    assert tpulint(project, "clean").out == f"Removed the cache in {place}\n"
    left = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    assert left == {TAG, ".gitignore", "notes.txt", "runs/experiment.log"}


@pytest.mark.parametrize(
    "options", [["--fix", "--unsafe-fixes"], ["--add-suppressions", "a reason"]]
)
def test_a_link_that_leads_out_is_not_written_through(
    project: Path, tmp_path: Path, options: list[str]
) -> None:
    target = tmp_path / "elsewhere.py"
    target.write_text(NESTED)
    (project / "link.py").symlink_to(target)
    (project / "pyproject.toml").write_text("")
    answer = tpulint(project, "check", *options)
    assert answer.status == 2
    assert "link.py: cannot write the file: it is a link that leads out" in answer.err
    assert target.read_text() == NESTED
    assert (project / "main.py").read_text() != NESTED


def test_a_report_is_not_written_through_a_link_out_of_the_repository(
    project: Path, tmp_path: Path
) -> None:
    (project / ".git").mkdir()
    target = tmp_path / "elsewhere"
    target.write_text("mine")
    (project / "report").symlink_to(target)
    for option in ("-o", "--write-baseline"):
        answer = tpulint(project, "check", option, "report")
        assert answer.status == 2
        assert "report: cannot write: it is a link that leads out of the repository" in answer.err
    assert target.read_text() == "mine"
    (project / "out").mkdir()
    os.unlink(project / "report")
    (project / "report").symlink_to("out/report")
    assert tpulint(project, "check", "-o", "report").status == 1
    assert "TPU201" in (project / "out/report").read_text()
