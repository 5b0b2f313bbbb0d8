"""A database that several processes use, and one that cannot be used or is none."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tpulint.cache_dir import DATABASE, JOURNAL, claim
from tpulint.incremental import memo
from tpulint.incremental.disk import FileState
from tpulint.incremental.memo import Database, Result
from tpulint.incremental.queries import FINDINGS

ONE = Result(FINDINGS, "head", "one", "value")
STATES = {"/a.py": FileState("1:2:3:4", "digest")}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def kept(cache: Path) -> dict[str, str]:
    database = Database(str(cache))
    try:
        return database.all(FINDINGS, "head")
    finally:
        database.close()


def keep(cache: Path, *results: Result) -> Database:
    database = Database(str(cache))
    database.write(results, STATES)
    database.close()
    return database


def test_results_are_found_again(cache: Path) -> None:
    assert not keep(cache, ONE).messages
    database = Database(str(cache))
    assert database.states() == STATES
    assert database.all(FINDINGS, "head") == {"one": "value"}
    assert database.some(FINDINGS, "head", ["one", "two"]) == {"one": "value"}
    assert database.some(FINDINGS, "another head", ["one"]) == {}
    keep(cache, ONE._replace(value="newer"))
    assert database.all(FINDINGS, "head") == {"one": "newer"}
    database.close()


def test_nothing_is_made_where_nothing_is_kept(cache: Path) -> None:
    keep(cache).close()
    Database(str(cache)).write([], {})
    assert kept(cache) == {}
    assert (cache / DATABASE).exists()  # for the states
    assert kept(cache.with_name("other")) == {}
    assert not cache.with_name("other").exists()


def test_names_that_are_no_text_are_left_out(cache: Path) -> None:
    strange = os.fsdecode(b"/\xff.py")
    database = Database(str(cache))
    database.write([ONE, ONE._replace(key=strange)], {strange: FileState("1", "2"), **STATES})
    assert database.all(FINDINGS, "head") == {"one": "value"}
    assert database.states() == STATES
    database.close()


def test_the_oldest_results_go_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "LIMIT_BYTES", 100)
    for number in range(5):
        keep(cache, Result(FINDINGS, "head", str(number), "x" * 40))
    assert sorted(kept(cache)) == ["3", "4"]


def damaged(data: bytes) -> bytes:
    draw = random.Random(3)
    return data[:100] + draw.randbytes(len(data) - 100)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "no database": lambda data: b"[" * 100_000,
    "cut": lambda data: data[: len(data) // 2],
    "its head alone": lambda data: data[:100],
    "its middle": damaged,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_database_is_none_and_made_anew(
    cache: Path, damage: Callable[[bytes], bytes]
) -> None:
    keep(cache, ONE, *(Result(FINDINGS, "head", str(n), "x" * 999) for n in range(50)))
    path = cache / DATABASE
    path.write_bytes(damage(path.read_bytes()))
    assert "one" not in kept(cache)
    assert not keep(cache, ONE).messages
    assert kept(cache) == {"one": "value"}


def test_a_database_of_another_layout_is_made_anew(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(cache, ONE)
    monkeypatch.setattr(memo, "LAYOUT", 7)
    assert kept(cache) == {}
    keep(cache, ONE._replace(key="two"))
    assert kept(cache) == {"two": "value"}


def test_tables_of_others_are_made_anew(cache: Path) -> None:
    keep(cache, ONE)
    with contextlib.closing(sqlite3.connect(cache / DATABASE)) as connection, connection:
        connection.execute("drop table results")
    assert kept(cache) == {}
    assert not keep(cache, ONE).messages
    assert kept(cache) == {"one": "value"}


@pytest.mark.parametrize(
    "change",
    ["value = 'other'", "key = 'two'", "value = x'ff'", "value = null", "seal = 7"],
)
def test_an_altered_row_is_none(cache: Path, change: str) -> None:
    keep(cache, ONE)
    with contextlib.closing(sqlite3.connect(cache / DATABASE)) as connection, connection:
        connection.execute(f"update results set {change}")
    assert kept(cache) == {}


@pytest.mark.parametrize("name", [DATABASE, JOURNAL])
def test_a_link_in_place_of_the_database_is_not_followed(
    cache: Path, tmp_path: Path, name: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    claim(str(cache))
    keep(tmp_path / "theirs", ONE)
    if name == JOURNAL:
        (tmp_path / "theirs" / DATABASE).rename(cache / DATABASE)
    (cache / name).symlink_to(victim)
    keep(cache, ONE)
    assert victim.read_bytes() == b"precious"
    assert kept(cache) == {"one": "value"}


def test_a_directory_of_others_is_left_alone(cache: Path) -> None:
    cache.mkdir()
    (cache / DATABASE).write_bytes(b"mine, and no database")
    database = keep(cache, ONE)
    assert (cache / DATABASE).read_bytes() == b"mine, and no database"
    assert database.messages == [f"{cache} is not used as a cache: the directory is not tpulint's"]


def test_what_cannot_be_written_is_said_once(cache: Path) -> None:
    cache.parent.joinpath("cache").write_text("a file")
    database = Database(str(cache))
    for _ in range(2):
        database.write([ONE], STATES)
        assert database.all(FINDINGS, "head") == {}
    assert len(database.messages) == 1


def test_a_full_disk_is_said_once(cache: Path) -> None:
    keep(cache, ONE)
    database = Database(str(cache))
    assert database.all(FINDINGS, "head") == {"one": "value"}
    assert database._connection is not None
    database._connection.execute("pragma max_page_count = 1")
    for number in range(2):
        database.write([Result(FINDINGS, "head", str(number), "x" * 100_000)], {})
    assert database.messages == [f"{cache} is not used as a cache: database or disk is full"]
    assert kept(cache) == {"one": "value"}


def test_a_database_that_another_process_locks_is_said_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(cache, ONE)
    monkeypatch.setattr(memo, "TIMEOUT_SECONDS", 0.01)
    with contextlib.closing(sqlite3.connect(cache / DATABASE)) as connection:
        connection.execute("begin exclusive")
        database = Database(str(cache))
        assert database.all(FINDINGS, "head") == {}
        database.write([ONE], {})
        assert database.messages == [f"{cache} is not used as a cache: database is locked"]
    assert kept(cache) == {"one": "value"}


def write_many(cache: Path, name: str) -> None:
    for number in range(20):
        if keep(cache, Result(FINDINGS, "head", f"{name}{number}", "x" * 5_000)).messages:
            os._exit(1)


def test_many_write_at_the_same_time(cache: Path) -> None:
    keep(cache, ONE)
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=write_many, args=(cache, name)) for name in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert len(kept(cache)) == 61


def test_a_journal_may_end_while_it_is_looked_at(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(cache, ONE)
    journal = cache / JOURNAL
    journal.write_bytes(b"")
    lstat = os.lstat

    def end_transaction(path: str) -> os.stat_result:
        state = lstat(path)
        if os.fspath(path) == str(journal):
            journal.unlink(missing_ok=True)
        return state

    monkeypatch.setattr(os, "lstat", end_transaction)
    assert kept(cache) == {"one": "value"}
