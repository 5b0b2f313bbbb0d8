"""A damaged entry of the cache is no entry: the check finds what it finds without a cache."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.programs import ACROSS, HELPER, NESTED
from tpulint.cache_dir import sealed
from tpulint.cli.main import main

Damage = Callable[[list[Path]], None]


def rewritten(change: Callable[[bytes], bytes]) -> Damage:
    def damage(entries: list[Path]) -> None:
        for each in entries:
            each.write_bytes(change(each.read_bytes()))

    return damage


def with_a_flipped_bit(data: bytes) -> bytes:
    place = random.Random(len(data)).randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def swapped(entries: list[Path]) -> None:
    """Give each entry the content of the next one, most of which are in the same folder."""
    contents = [each.read_bytes() for each in entries]
    for each, other in zip(entries, [*contents[1:], contents[0]], strict=True):
        each.write_bytes(other)


def replaced(text: str, *, is_sealed: bool) -> Damage:
    def damage(entries: list[Path]) -> None:
        for each in entries:
            data = text.encode()
            each.write_bytes(sealed(each.stem, data) if is_sealed else data)

    return damage


def made_special(entries: list[Path]) -> None:
    for each in entries:
        each.unlink()
        each.symlink_to("/dev/zero")


DEEP = "[" * 100_000 + "]" * 100_000
DAMAGES: dict[str, Damage] = {
    "flipped": rewritten(with_a_flipped_bit),
    "truncated": rewritten(lambda data: data[: len(data) // 2]),
    "cut to the seal": rewritten(lambda data: data[:64]),
    "empty": rewritten(lambda data: b""),
    "longer": rewritten(lambda data: data + b" "),
    "swapped": swapped,
    "deep": replaced(DEEP, is_sealed=False),
    "deep and sealed": replaced(DEEP, is_sealed=True),
    "list": replaced("[]", is_sealed=True),
    "list of lists": replaced("[[], [], [], [], [], []]", is_sealed=True),
    "number": replaced("7", is_sealed=True),
    "table": replaced('{"findings": 3, "inputs": [], "a.py": []}', is_sealed=True),
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
    found = ["--output-format", "json", "--jobs", "1", "-o", "../found.json"]
    assert main(["check", "--isolated", *found, *arguments]) == 1
    return Path("../found.json").read_bytes()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_none(project: Path, damage: Damage) -> None:
    expected = check("--no-cache")
    check()
    check()
    entries = sorted(project.glob(".tpulint_cache/*/*.json"))
    folders = {"runs", "programs", "divisions", "signs"}
    assert {each.parent.name for each in entries} > folders  # and those of summaries
    damage(entries)
    assert check() == expected
    assert check() == expected
