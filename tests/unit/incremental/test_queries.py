"""A check searches only what has changed since the last one, and divides anew only if it must."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tpulint.absint.resolver.import_graph import ImportGraph
from tpulint.cache_dir import DATABASE
from tpulint.check import driver, executor
from tpulint.check.executor import LocalWorkers, Search, SearchStep
from tpulint.check.programs import prefilter
from tpulint.check.progress import Progress
from tpulint.codes import CODES
from tpulint.disk import Disk
from tpulint.frontends.settings import Settings
from tpulint.incremental.disk import CLOCK_LAG_NS, CheckedDisk, digest_of
from tpulint.incremental.memo import Database, seal_of
from tpulint.incremental.model import Batch, Job, Programs
from tpulint.incremental.queries import FACTS, IMPORTS, PROGRAMS, Queries
from tpulint.syntax import api_spellings

SEAM = "import net\nimport tensorflow as tf\ny = tf.compat.v1.tpu.rewrite(tf.abs, [[1.0]])\n"
EARLIER = time.time() - 100
# Seconds after which a file is no longer taken for one that changes.
SETTLED = 3 * CLOCK_LAG_NS / 1e9
FILES = {"train.py": SEAM, "net.py": "import layers\n", "plain.py": "x = 1\n", "layers.py": ""}


class Seen:
    """The steps of one check: the files that were searched, and how often programs were found."""

    def __init__(self) -> None:
        self.searched: list[str] = []
        self.divided = 0


def check(top: Path, workers: type[LocalWorkers] = LocalWorkers) -> tuple[Programs, Seen]:
    paths = tuple(sorted(map(str, top.glob("*.py"))))
    memo = Database(str(top / ".cache"))
    disk = CheckedDisk({}, memo.states())
    batch = Batch(paths, frozenset(), disk, frozenset(CODES), Settings())
    queries = Queries(batch, disk, memo)
    seen = Seen()

    class SeenWorkers(workers):  # type: ignore[misc, valid-type]
        def search(self, step: SearchStep, filenames: Sequence[str]) -> Search:
            seen.searched += map(os.path.basename, filenames)
            return super().search(step, filenames)

    def divide(*arguments: Any) -> list[Job]:
        seen.divided += 1
        return division(*arguments)

    division = driver.divide
    with pytest.MonkeyPatch.context() as patch, SeenWorkers(batch, 1, Progress()) as steps:
        patch.setattr(driver, "divide", divide)
        actual = driver.find_programs(batch, queries, steps)
    queries.write()
    memo.close()
    return actual.programs, seen


def write(top: Path, files: dict[str, str], age: float = 0) -> None:
    for name, text in files.items():
        (top / name).write_text(text, encoding="utf-8")
        os.utime(top / name, (EARLIER + age, EARLIER + age))
    time.sleep(SETTLED)


def names_in(job: Job) -> list[str]:
    return [os.path.basename(seed) for seed in job.seeds]


def sizes(top: Path) -> list[int]:
    return [job.size for job in check(top)[0].jobs]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that was checked before."""
    write(tmp_path, FILES)
    programs, seen = check(tmp_path)
    assert [job.size for job in programs.jobs] == [3]
    assert len(seen.searched) == len(FILES)
    return tmp_path


def test_nothing_is_done_again_where_nothing_changed(project: Path) -> None:
    programs, seen = check(project)
    assert [names_in(job) for job in programs.jobs] == [["train.py"]]
    assert not seen.searched
    assert not seen.divided


def test_an_edit_of_one_file_searches_that_one(project: Path) -> None:
    write(project, {"net.py": "import layers\nx = 2\n"}, age=1)
    programs, seen = check(project)
    assert [job.size for job in programs.jobs] == [3]
    assert seen.searched == ["net.py"]
    assert not seen.divided
    again = check(project)[1]
    assert not again.searched
    assert not again.divided


def test_files_with_new_times_are_not_searched_again(project: Path) -> None:
    """A checkout, or the cache of another machine: the content is the same."""
    write(project, FILES, age=5)
    seen = check(project)[1]
    assert not seen.searched
    assert not seen.divided


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"net.py": "import plain\n"}, [3]),
        ({"net.py": ""}, [2]),
        ({"plain.py": SEAM}, [4]),
        ({"train.py": "import net\n"}, []),
    ],
    ids=["another import", "no import", "one more that shows the seam", "none that shows it"],
)
def test_an_edit_that_changes_the_programs(
    files: dict[str, str], expected: list[int], project: Path
) -> None:
    write(project, files, age=1)
    assert sizes(project) == expected


def test_only_the_imports_of_edited_files_are_found_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    actual = ImportGraph._text

    def counted(graph: ImportGraph, path: str) -> bytes:
        read.append(os.path.basename(path))
        return actual(graph, path)

    monkeypatch.setattr(ImportGraph, "_text", counted)
    write(project, {"net.py": "import plain\n"}, age=1)
    assert sizes(project) == [3]
    assert read == ["net.py"]


def test_a_wrong_name_is_found_again_without_its_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = "import tensorflow as tf\nx = tf.tpu.no_such_name\ny = tf.tpu.experimental\n"
    write(project, {"wrong.py": wrong})
    first, _ = check(project)
    assert [spelling.name.written for spelling in first.spelled] == ["tf.tpu.no_such_name"]
    monkeypatch.setattr(api_spellings, "spelled", None)  # which reads a file
    second, _ = check(project)
    assert second.spelled == first.spelled
    write(project, {"net.py": "import plain\n"}, age=1)
    third, seen = check(project)
    assert seen.divided
    assert third.spelled == first.spelled


def test_a_new_file_can_be_what_an_import_means(project: Path) -> None:
    write(project, {"net.py": "import layers, late\n"}, age=1)
    assert sizes(project) == [3]
    write(project, {"late.py": ""})
    assert sizes(project) == [4]


def test_a_file_that_is_being_written_is_read_again(project: Path) -> None:
    """The time of a file says nothing where it may change again within the same tick."""
    path = project / "plain.py"
    disk = CheckedDisk()
    path.write_text("x = 3\n", encoding="utf-8")
    assert disk.digest(str(path)) == digest_of(b"x = 3\n")
    assert str(path) not in disk.new
    time.sleep(SETTLED)
    disk.refresh()
    assert disk.digest(str(path)) == digest_of(b"x = 3\n")
    assert str(path) in disk.new


@pytest.mark.parametrize("query", [FACTS, IMPORTS, PROGRAMS])
@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"train.py": 3}', "7", "[1, 2]", "[" * 100_000, "[[], [], 1, 2]"]
)
def test_a_broken_result_is_none(text: str, query: str, project: Path) -> None:
    replace_results(project / ".cache", query, text)
    programs, seen = check(project)
    assert [job.size for job in programs.jobs] == [3]
    assert len(seen.searched) == (len(FILES) if query == FACTS else 0)


def replace_results(cache: Path, query: str, text: str) -> None:
    with contextlib.closing(sqlite3.connect(cache / DATABASE)) as connection, connection:
        rows = connection.execute(
            "select rowid, key from results where query = ?", (query,)
        ).fetchall()
        assert rows
        for row, key in rows:
            connection.execute(
                "update results set value = ?, seal = ? where rowid = ?",
                (text, seal_of(key, text), row),
            )


def test_few_changed_files_start_no_process(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "MIN_FILES_FOR_POOL", 2)
    batch = Batch((), frozenset(), Disk(), frozenset(CODES), Settings())
    with LocalWorkers(batch, 2, Progress()) as workers:
        workers.search(prefilter, [str(project / "net.py")])
        assert workers._pool is None


def test_a_file_that_comes_during_a_check_is_found_by_the_next(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is on disk when the programs are written down, and no import has found it."""
    divide = driver.divide

    def late(*arguments: Any) -> list[Job]:
        jobs = divide(*arguments)
        write(project, {"late.py": ""})
        return jobs

    write(project, {"net.py": "import late\n"}, age=1)
    with monkeypatch.context() as patch:
        patch.setattr(driver, "divide", late)
        assert sizes(project) == [2]
    assert sizes(project) == [3]


@pytest.mark.parametrize("text", ["", "7", "[]]", "[],[]", '{"a": 1}'])
def test_facts_that_do_not_decode_are_none(text: str, project: Path) -> None:
    cache = project / ".cache"
    with contextlib.closing(sqlite3.connect(cache / DATABASE)) as connection, connection:
        rows = connection.execute(
            "select rowid, key, value from results where query = ?", (FACTS,)
        ).fetchall()
        for row, key, value in rows:
            broken = f"{value.partition(' ')[0]} {text}"
            connection.execute(
                "update results set value = ?, seal = ? where rowid = ?",
                (broken, seal_of(key, broken), row),
            )
    assert sizes(project) == [3]
    assert sizes(project) == [3]
