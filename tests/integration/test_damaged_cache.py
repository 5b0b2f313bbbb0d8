"""A damaged result in the cache is none: the check finds what it finds without a cache."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.programs import ACROSS, HELPER, NESTED
from tpulint.cache_dir import DATABASE
from tpulint.cli.main import main
from tpulint.incremental.memo import seal_of
from tpulint.incremental.queries import FACTS, FINDINGS, FIXES, IMPORTS, PROGRAMS

Damage = Callable[[Path], None]


def rewritten(change: Callable[[bytes], bytes]) -> Damage:
    def damage(database: Path) -> None:
        database.write_bytes(change(database.read_bytes()))

    return damage


def with_flipped_bits(data: bytes) -> bytes:
    draw = random.Random(len(data))
    flipped = bytearray(data)
    for _ in range(200):
        flipped[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(flipped)


def swapped(database: Path) -> None:
    """Give each result the value of the next one, most of which are of the same query."""
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        rows = connection.execute("select rowid, value from results order by query").fetchall()
        for (row, _), (_, value) in zip(rows, [*rows[1:], rows[0]], strict=True):
            connection.execute("update results set value = ? where rowid = ?", (value, row))


def replaced(text: str, *, is_sealed: bool) -> Damage:
    def damage(database: Path) -> None:
        with contextlib.closing(sqlite3.connect(database)) as connection, connection:
            for row, key in connection.execute("select rowid, key from results").fetchall():
                connection.execute("update results set value = ? where rowid = ?", (text, row))
                if is_sealed:
                    seal = (seal_of(key, text), row)
                    connection.execute("update results set seal = ? where rowid = ?", seal)

    return damage


def made_special(database: Path) -> None:
    database.unlink()
    database.symlink_to("/dev/zero")


DEEP = "[" * 100_000 + "]" * 100_000
DAMAGES: dict[str, Damage] = {
    "flipped": rewritten(with_flipped_bits),
    "truncated": rewritten(lambda data: data[: len(data) // 2]),
    "empty": rewritten(lambda data: b""),
    "deep file": rewritten(lambda data: DEEP.encode()),
    "longer": rewritten(lambda data: data + b" " * 5_000),
    "swapped": swapped,
    "deep": replaced(DEEP, is_sealed=False),
    "deep and sealed": replaced(DEEP, is_sealed=True),
    "list": replaced("[]", is_sealed=True),
    "list of lists": replaced("[[], [], [], [], [], []]", is_sealed=True),
    "number": replaced("7", is_sealed=True),
    "table": replaced('{"findings": 3, "dependencies": [], "a.py": []}', is_sealed=True),
    "device": made_special,
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("main", ACROSS), ("helper", HELPER), ("other", NESTED)):
        (tmp_path / f"{name}.py").write_text(text)
        (tmp_path / f"{name}_again.py").write_text(text.replace("helper", "helper_again"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> bytes:
    actual = ["--output-format", "json", "--jobs", "1", "-o", "../found.json"]
    assert main(["check", "--isolated", *actual, *arguments]) == 1
    return Path("../found.json").read_bytes()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_result_is_none(project: Path, damage: Damage) -> None:
    expected = check("--no-cache")
    check()
    check()
    database = project / ".tpulint_cache" / DATABASE
    with contextlib.closing(sqlite3.connect(database)) as connection:
        queries = {query for (query,) in connection.execute("select query from results")}
    assert queries == {FACTS, FINDINGS, FIXES, IMPORTS, PROGRAMS}
    damage(database)
    assert check() == expected
    assert check() == expected
