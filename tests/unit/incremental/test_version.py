"""The memory of the last runs belongs to one version of the tool."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import tpulint
from tpulint.incremental import memo
from tpulint.incremental.memo import SUFFIXES, Database, Memo, own_hash


def test_every_file_of_the_analyzer_belongs_to_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tpulint"
    ignored = shutil.ignore_patterns("runtime", "__pycache__")
    shutil.copytree(Path(tpulint.__file__).parent, package, ignore=ignored)
    monkeypatch.setattr(tpulint, "__file__", str(package / "__init__.py"))
    hash_now = own_hash.__wrapped__
    before = hash_now()
    assert hash_now() == before
    files = [file for file in package.rglob("*") if file.suffix in SUFFIXES]
    for path in files[:: len(files) // 7]:
        data = path.read_bytes()
        path.write_bytes(data + b"\n")
        assert hash_now() != before
        path.write_bytes(data)
        assert hash_now() == before
    files[0].unlink()
    assert hash_now() != before


def test_only_what_is_stored_belongs_to_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memo, "own_hash", lambda: "a hash")
    assert Database(str(tmp_path)).analyzer_identity() == "a hash"
    assert Memo().analyzer_identity() == ""
