"""The hooks, as pre-commit installs and runs them in a fresh git repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.conftest import ROOT
from tests.integration.programs import NESTED

PUBLISHED = (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE", "tpulint")
UNUSED = "x = 1  # noqa: TPU999\n"
DEADLINE = 300  # seconds; pre-commit installs tpulint with what it needs


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.invalid"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def repository(folder: Path) -> Path:
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "All of it")
    return folder


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that holds what is published of tpulint."""
    folder = tmp_path_factory.mktemp("hooks")
    for name in PUBLISHED:
        path = ROOT / name
        if path.is_dir():
            leave = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, folder / name, ignore=leave)
        else:
            shutil.copy(path, folder / name)
    return repository(folder)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "fault.py").write_text(NESTED)
    (folder / "unused.py").write_text(UNUSED)
    (folder / "left_out.py").write_text(NESTED)
    (folder / "notes.txt").write_text("outside_compilation\n")
    (folder / "pyproject.toml").write_text('[tool.tpulint]\nexclude = ["left_out.py"]\n')
    return repository(folder)


def try_repo(hooks: Path, project: Path, home: Path, hook: str) -> tuple[int, str]:
    environment = {**os.environ, "PRE_COMMIT_HOME": str(home)}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), hook, "--all-files"]
    done = subprocess.run(
        [*command, "--verbose", "--color=never"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_both_hooks(hooks: Path, project: Path, tmp_path: Path) -> None:
    status, said = try_repo(hooks, project, tmp_path, "tpulint")
    assert status == 1, said
    assert "TPU201" in said
    assert "--> fault.py:9:12" in said
    assert "TPU002" in said
    assert "--> unused.py:1:8" in said
    assert "left_out.py" not in said
    assert "notes.txt" not in said
    assert (project / "unused.py").read_text() == UNUSED

    status, said = try_repo(hooks, project, tmp_path, "tpulint-fix")
    assert status == 1, said
    assert "files were modified by this hook" in said
    assert (project / "unused.py").read_text() == "x = 1\n"
