"""A check searches only what has changed since the last one, and divides anew only if it must."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tpulint.analysis.names.spelling_search import Spelled
from tpulint.analysis.options import Settings
from tpulint.cache_dir import sealed
from tpulint.codes import CODES
from tpulint.pipeline import driver, executor, kept_entry
from tpulint.pipeline.batch import Batch, Job
from tpulint.pipeline.executor import ProcessExecutor
from tpulint.pipeline.file_signs import FileSigns
from tpulint.pipeline.kept_division import KeptDivision
from tpulint.pipeline.prefilter import NOTHING, Prefiltered
from tpulint.pipeline.progress import Progress
from tpulint.pipeline.stamps import TICK
from tpulint.syntax import api_spellings

SEAM = "import net\nimport tensorflow as tf\ny = tf.compat.v1.tpu.rewrite(tf.abs, [[1.0]])\n"
EARLIER = time.time() - 100
SETTLED = 3 * TICK / 1e9  # seconds after which a file is no longer taken for one that changes
FILES = {"train.py": SEAM, "net.py": "import layers\n", "plain.py": "x = 1\n", "layers.py": ""}


class Seen:
    """The steps of one check: which files were searched, and the graphs that were asked for."""

    def __init__(self) -> None:
        self.searched: list[str] = []
        self.graphs: list[object] = []
        self.spelled: tuple[Spelled, ...] = ()

    def prefilter(
        self, batch: Batch, filenames: object, known: Mapping[str, FileSigns] = NOTHING
    ) -> Prefiltered:
        found = driver.prefilter_files(batch, batch.filenames, known)
        self.spelled = found.spelled
        self.searched += (os.path.basename(name) for name, _ in found.searched)
        return found

    def divide(self, batch: Batch, prefiltered: Prefiltered, graph: object) -> list[Job]:
        self.graphs.append(graph)
        return driver.divide_files(batch, prefiltered, graph)  # type: ignore[arg-type]


def check(top: Path) -> tuple[list[Job], Seen]:
    paths = tuple(sorted(map(str, top.glob("*.py"))))
    batch = Batch(paths, frozenset(), {}, frozenset(CODES), Settings(), str(top / ".cache"))
    seen = Seen()
    with ProcessExecutor(batch, 1, Progress()) as steps:
        jobs = steps.divide(steps.prefilter(seen.prefilter), seen.divide)
        steps.programs([], driver.analyze_program)  # what is kept is written when they start
    return jobs, seen


def write(top: Path, files: dict[str, str], age: float = 0) -> None:
    for name, text in files.items():
        (top / name).write_text(text, encoding="utf-8")
        os.utime(top / name, (EARLIER + age, EARLIER + age))
    time.sleep(SETTLED)


def names_in(job: Job) -> list[str]:
    return [os.path.basename(each) for each in job.seeds]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that was checked before."""
    write(tmp_path, FILES)
    jobs, seen = check(tmp_path)
    assert [each.size for each in jobs] == [3]
    assert len(seen.searched) == len(FILES)
    return tmp_path


def test_nothing_is_done_again_where_nothing_changed(project: Path) -> None:
    jobs, seen = check(project)
    assert [names_in(each) for each in jobs] == [["train.py"]]
    assert not seen.searched
    assert not seen.graphs


def test_an_edit_of_one_file_searches_that_one(project: Path) -> None:
    write(project, {"net.py": "import layers\nx = 2\n"}, age=1)
    jobs, seen = check(project)
    assert [each.size for each in jobs] == [3]
    assert seen.searched == ["net.py"]
    assert not seen.graphs
    again = check(project)[1]
    assert not again.searched
    assert not again.graphs


def test_many_changed_files_are_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_entry, "LEFT", 0)
    write(project, {"net.py": "import layers\nx = 2\n"}, age=1)
    assert check(project)[1].searched == ["net.py"]
    monkeypatch.setattr(KeptDivision, "_import_the_same", None)  # which reads changed files
    again = check(project)[1]
    assert not again.searched
    assert not again.graphs


@pytest.mark.parametrize(
    ("files", "sizes"),
    [
        ({"net.py": "import plain\n"}, [3]),
        ({"net.py": ""}, [2]),
        ({"plain.py": SEAM}, [4]),
        ({"train.py": "import net\n"}, []),
    ],
    ids=["another import", "no import", "one more that shows the seam", "none that shows it"],
)
def test_an_edit_that_changes_the_programs(
    files: dict[str, str], sizes: list[int], project: Path
) -> None:
    write(project, files, age=1)
    assert [each.size for each in check(project)[0]] == sizes


def test_a_wrong_name_is_found_again_without_its_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = "import tensorflow as tf\nx = tf.tpu.no_such_name\ny = tf.tpu.experimental\n"
    write(project, {"wrong.py": wrong})
    monkeypatch.setattr(kept_entry, "LEFT", 0)
    _, first = check(project)
    assert [each.name.written for each in first.spelled] == ["tf.tpu.no_such_name"]
    monkeypatch.setattr(api_spellings, "spelled", None)  # which reads a file
    _, second = check(project)
    assert second.spelled == first.spelled


def test_a_new_file_can_be_what_an_import_means(project: Path) -> None:
    write(project, {"net.py": "import layers, late\n"}, age=1)
    assert [each.size for each in check(project)[0]] == [3]
    write(project, {"late.py": ""})
    assert [each.size for each in check(project)[0]] == [4]


def test_a_file_that_is_being_written_is_searched_again(project: Path) -> None:
    """The time of a file says nothing where it may change again within the same tick."""
    (project / "plain.py").write_text("x = 3\n", encoding="utf-8")
    assert check(project)[1].searched == ["plain.py"]
    assert check(project)[1].searched == ["plain.py"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"train.py": 3}', "[1, 2]", "[[], [], 1, 2, 3]"])
def test_a_broken_entry_is_none(text: str, project: Path) -> None:
    for each in project.glob(".cache/*/*.json"):
        each.write_bytes(sealed(each.stem, text.encode()))
    jobs, seen = check(project)
    assert [each.size for each in jobs] == [3]
    assert len(seen.searched) == len(FILES)
    assert seen.graphs


def test_few_changed_files_start_no_process(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "FEW", 2)
    write(project, {"net.py": "import layers\nx = 2\n"}, age=1)
    paths = tuple(sorted(map(str, project.glob("*.py"))))
    batch = Batch(paths, frozenset(), {}, frozenset(CODES), Settings(), str(project / ".cache"))
    with ProcessExecutor(batch, 2, Progress()) as steps:
        steps.prefilter(driver.prefilter_files)
        assert steps._pool is None


def test_a_file_that_comes_during_a_check_is_found_by_the_next(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is on disk when the division is written down, and no import has found it."""
    divide = Seen.divide

    def late(self: Seen, *rest: Any) -> list[Job]:
        jobs = divide(self, *rest)
        write(project, {"late.py": ""})
        return jobs

    write(project, {"net.py": "import late\n"}, age=1)
    monkeypatch.setattr(Seen, "divide", late)
    assert [each.size for each in check(project)[0]] == [2]
    monkeypatch.setattr(Seen, "divide", divide)
    assert [each.size for each in check(project)[0]] == [3]
