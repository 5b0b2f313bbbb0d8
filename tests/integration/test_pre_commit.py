"""The hooks, as pre-commit installs them in a git repository and runs them for a commit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.integration.conftest import ROOT
from tests.integration.programs import NESTED

PUBLISHED = (
    ".pre-commit-hooks.yaml",
    "pyproject.toml",
    "setup.py",
    "README.md",
    "LICENSE",
    "docs",
    "tpulint",
)
UNUSED = "x = 1  # noqa: TPU999\n"
DEADLINE = 300  # seconds; pre-commit installs tpulint with what it needs
WHO = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.invalid"]

DATA = """\
import tensorflow as tf

def input_fn(params):
    dataset = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]).repeat()
    return dataset.batch(params["batch_size"])
"""
SOUND_DATA = DATA.replace('["batch_size"])', '["batch_size"], drop_remainder=True)')
TRAIN = """\
import tensorflow as tf

import data

STEPS = 10

def model_fn(features, labels, mode, params):
    variable = tf.compat.v1.get_variable("v", [])
    loss = tf.reduce_mean(features * variable)
    optimizer = tf.compat.v1.tpu.CrossShardOptimizer(tf.compat.v1.train.AdamOptimizer())
    train_op = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
    return tf.compat.v1.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

config = tf.compat.v1.estimator.tpu.RunConfig()
estimator = tf.compat.v1.estimator.tpu.TPUEstimator(model_fn, config=config, train_batch_size=8)
estimator.train(data.input_fn, max_steps=STEPS)
"""
OTHER_TRAIN = TRAIN.replace("STEPS = 10", "STEPS = 20")


class Answer(NamedTuple):
    status: int
    text: str


class Project:
    """A git repository with both hooks, and pre-commit's folder for what it installs."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self._environment = {**os.environ, "PRE_COMMIT_HOME": str(home)}
        self._environment.pop("PYTHONPATH", None)

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.folder / f"{name}.py").write_text(text)

    def git(self, *arguments: str) -> Answer:
        return self._run(["git", *WHO, *arguments])

    def pre_commit(self, *arguments: str) -> Answer:
        return self._run([sys.executable, "-m", "pre_commit", *arguments, "--color=never"])

    def commit_unchecked(self, *names: str) -> None:
        for arguments in (["add", *names], ["commit", "-q", "--no-verify", "-m", "unchecked"]):
            answer = self.git(*arguments)
            assert answer.status == 0, answer.text

    def _run(self, command: list[str]) -> Answer:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        return Answer(done.returncode, done.stdout + done.stderr)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A repository that holds what is published of tpulint, and its commit."""
    folder = tmp_path_factory.mktemp("published")
    for name in PUBLISHED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, folder / name)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "All of it"]):
        subprocess.run(["git", *WHO, *arguments], cwd=folder, check=True, capture_output=True)
    revision = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(revision, cwd=folder, check=True, capture_output=True, text=True)
    return folder, done.stdout.strip()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def project(published: tuple[Path, str], home: Path, tmp_path: Path) -> Project:
    folder, revision = published
    project = Project(tmp_path, home)
    assert project.git("init", "-q", "-b", "trunk").status == 0
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {folder}\n  rev: {revision}\n  hooks:\n  - id: tpulint\n"
        "  - id: tpulint-fix\n    stages: [manual]\n"
    )
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    assert project.git("add", ".pre-commit-config.yaml", ".gitignore").status == 0
    installed = project.pre_commit("install")
    assert installed.status == 0, installed.text
    return project


def assert_reported(answer: Answer, *files: str) -> None:
    """The hook failed, and its findings are in these files."""
    assert answer.status == 1, answer.text
    assert set(re.findall(r"--> (\w+)\.py", answer.text)) == set(files), answer.text


def assert_passed(answer: Answer) -> None:
    assert answer.status == 0, answer.text
    assert re.search(r"tpulint\.{9,}Passed", answer.text), answer.text


def test_a_fault_in_a_file_that_the_commit_leaves_alone(project: Project) -> None:
    project.write(data=DATA, train=TRAIN, other=NESTED)
    project.commit_unchecked("data.py", "train.py", "other.py")
    project.write(train=OTHER_TRAIN)
    project.git("add", "train.py")
    assert_reported(project.pre_commit("run"), "data")
    assert_reported(project.git("commit", "-m", "More steps"), "data")

    project.write(data=SOUND_DATA)
    project.git("add", "data.py")
    assert_passed(project.git("commit", "-m", "More steps of full batches"))


def test_a_warm_run_takes_less_than_a_second(project: Project) -> None:
    project.write(data=SOUND_DATA, train=TRAIN)
    project.git("add", "data.py", "train.py")
    runs = [project.pre_commit("run", "--verbose").text for _ in range(4)]
    assert "duration" in runs[0], runs[0]
    assert min(float(re.findall(r"duration: ([\d.]+)s", text)[0]) for text in runs) < 1


class TestFirstCommit:
    def test_everything_in_it_is_reported(self, project: Project) -> None:
        project.write(fault=NESTED, untracked=NESTED, ignored=NESTED)
        project.git("add", "fault.py")
        assert_reported(project.git("commit", "-m", "first"), "fault")

    def test_without_a_fault_it_passes(self, project: Project) -> None:
        project.write(sound="import tensorflow as tf\n", untracked=NESTED)
        project.git("add", "sound.py")
        assert_passed(project.git("commit", "-m", "first"))


class TestWhatIsStaged:
    def test_a_repair_that_is_not_staged_repairs_nothing(self, project: Project) -> None:
        project.write(data=DATA, train=TRAIN)
        project.git("add", "data.py", "train.py")
        project.write(data=SOUND_DATA)
        assert_reported(project.git("commit", "-m", "first"), "data")
        assert (project.folder / "data.py").read_text() == SOUND_DATA

    def test_a_fault_that_is_not_staged_is_not_reported(self, project: Project) -> None:
        project.write(data=SOUND_DATA, train=TRAIN)
        project.git("add", "data.py", "train.py")
        project.write(data=DATA)
        assert_passed(project.git("commit", "-m", "first"))

    def test_a_module_that_was_forgotten_is_not_read(self, project: Project) -> None:
        project.write(data=DATA, train=TRAIN)
        project.git("add", "train.py")
        assert_passed(project.git("commit", "-m", "first"))

    def test_a_commit_of_named_files_leaves_out_what_else_is_staged(self, project: Project) -> None:
        project.write(data=SOUND_DATA, train=TRAIN, other="")
        project.commit_unchecked("data.py", "train.py", "other.py")
        project.write(other=NESTED, train=OTHER_TRAIN)
        project.git("add", "other.py")
        assert_passed(project.git("commit", "-m", "one file", "train.py"))
        assert_reported(project.git("commit", "-m", "the other file"), "other")

    def test_a_commit_that_only_removes_a_file(self, project: Project) -> None:
        project.write(data=DATA, train=TRAIN)
        project.commit_unchecked("data.py", "train.py")
        (project.folder / "data.py").unlink()
        assert_passed(project.git("commit", "-a", "-m", "No data"))

    def test_a_commit_that_changes_nothing_reports_nothing(self, project: Project) -> None:
        project.write(fault=NESTED)
        project.commit_unchecked("fault.py")
        assert_passed(project.git("commit", "--amend", "-m", "Another message"))
        assert_passed(project.git("commit", "--allow-empty", "-m", "Empty"))


class TestInContinuousIntegration:
    def test_all_files(self, project: Project) -> None:
        project.write(data=DATA, train=TRAIN, other=NESTED)
        project.commit_unchecked("data.py", "train.py", "other.py")
        project.write(untracked=NESTED)
        answer = project.pre_commit("run", "--all-files")
        assert_reported(answer, "data", "other")

    def test_the_changes_of_a_branch(self, project: Project) -> None:
        project.write(data=DATA, train=TRAIN, other=NESTED)
        project.commit_unchecked("data.py", "train.py", "other.py")
        project.write(train=OTHER_TRAIN)
        project.commit_unchecked("train.py")
        project.write(data=SOUND_DATA)  # nobody commits it
        run = ["run", "--from-ref", "HEAD~", "--to-ref", "HEAD"]
        assert_reported(project.pre_commit(*run), "data")
        assert (project.folder / "data.py").read_text() == SOUND_DATA

    def test_the_changes_of_a_branch_are_sound(self, project: Project) -> None:
        project.write(data=SOUND_DATA, train=TRAIN, other=NESTED)
        project.commit_unchecked("data.py", "train.py", "other.py")
        project.write(train=OTHER_TRAIN)
        project.commit_unchecked("train.py")
        assert_passed(project.pre_commit("run", "--from-ref", "HEAD~", "--to-ref", "HEAD"))


def test_the_hook_that_fixes(project: Project) -> None:
    project.write(unused=UNUSED, untracked=UNUSED)
    project.git("add", "unused.py")
    answer = project.pre_commit("run", "--hook-stage", "manual", "tpulint-fix")
    assert answer.status == 1, answer.text
    assert "files were modified by this hook" in answer.text
    assert (project.folder / "unused.py").read_text() == "x = 1\n"
    assert (project.folder / "untracked.py").read_text() == UNUSED
