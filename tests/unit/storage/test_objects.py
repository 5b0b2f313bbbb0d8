"""Objects as files: names, folders, and what a killed or a second server leaves."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpulint.storage.objects import (
    IGNORED,
    UPLOADS,
    NoSuchObjectError,
    ObjectStore,
    StorageProblem,
    part_of,
    parts_on_disk,
)


def put(store: ObjectStore, name: str, content: bytes = b"x", *, is_new: bool = False) -> None:
    with store.new_file() as file:
        file.write(content)
    store.commit(file.name, "bucket", name, is_new=is_new)


def content(store: ObjectStore, name: str) -> bytes:
    return Path(store.find("bucket", name).path).read_bytes()


def names(store: ObjectStore, prefix: str = "", delimiter: str = "") -> list[str]:
    return sorted(item.name for item in store.list("bucket", prefix, delimiter))


@pytest.fixture(name="store")
def store_fixture(tmp_path: Path) -> ObjectStore:
    return ObjectStore(str(tmp_path / "storage"))


def test_an_object_is_the_file_that_its_name_says(store: ObjectStore, tmp_path: Path) -> None:
    put(store, "train/0.tfrecord", b"records")
    assert (tmp_path / "storage/bucket/train/0.tfrecord").read_bytes() == b"records"


def test_a_file_that_a_user_copies_there_is_an_object(store: ObjectStore, tmp_path: Path) -> None:
    (tmp_path / "storage/bucket/data").mkdir(parents=True)
    (tmp_path / "storage/bucket/data/train.txt").write_bytes(b"by hand")
    assert content(store, "data/train.txt") == b"by hand"
    assert names(store) == ["data/train.txt"]


AWKWARD = [
    *("a", "a/b", "a/b/c", "a/", "a//b", "/a", "..", "../x", "a/../../x", ".", "./a", "a/.."),
    *("%=a", "%+a", "%file=a", "100%", "%2F", "a b", "a\\b", "c:\\x", "*?[x]", "-rf", "~", "\0"),
    *("数据/训练", "данные", "नमस्ते", "é", "e\u0301", "😀", "x" * 255, "x" * 1024, "é" * 500),
    "ключ" * 120 + "/a",
]


def test_all_names_live_side_by_side(store: ObjectStore, tmp_path: Path) -> None:
    for name in AWKWARD:
        put(store, name, name.encode())
    assert names(store) == sorted(AWKWARD)
    assert [content(store, name) for name in AWKWARD] == [name.encode() for name in AWKWARD]
    assert [path.name for path in tmp_path.iterdir()] == ["storage"]
    for name in AWKWARD:
        store.delete("bucket", name)
    assert names(store) == []
    assert os.listdir(tmp_path / "storage/bucket") == []


@pytest.mark.parametrize("order", [("a", "a/b"), ("a/b", "a")])
def test_an_object_may_have_the_name_of_a_folder(
    order: tuple[str, str], store: ObjectStore
) -> None:
    for name in order:
        put(store, name, name.encode())
    put(store, "a", b"again")
    assert (content(store, "a"), content(store, "a/b")) == (b"again", b"a/b")
    store.delete("bucket", "a")
    assert names(store) == ["a/b"]
    put(store, "a")
    store.delete("bucket", "a/b")
    put(store, "a", b"last")
    assert names(store) == ["a"]
    assert content(store, "a") == b"last"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_every_part_of_a_name_is_read_as_it_was_written(part: str) -> None:
    if {"/", "\n", "\r"} & set(part) or len(part.encode()) > 1000:
        return
    *before, last = parts_on_disk(part)
    assert part_of(last, "".join(piece.removeprefix("%+") for piece in before)) == part
    assert all(0 < len(piece.encode()) <= 255 for piece in [*before, last])
    assert not {".", ".."} & {*before, last}


@pytest.mark.parametrize("name", ["x" * 1025, "a\nb", "\ud800"])
def test_names_that_no_object_has_are_refused(name: str, store: ObjectStore) -> None:
    with pytest.raises(StorageProblem) as problem:
        store.find("bucket", name)
    assert problem.value.status == 400


@pytest.mark.parametrize("bucket", ["", "..", ".uploads", "a/b", "UPPER", "x", "-ab", "a" * 300])
def test_names_that_no_bucket_has_are_refused(bucket: str, store: ObjectStore) -> None:
    with pytest.raises(StorageProblem) as problem:
        store.has_bucket(bucket)
    assert problem.value.status == 400


def test_a_link_is_refused_and_not_listed(store: ObjectStore, tmp_path: Path) -> None:
    put(store, "kept")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/file").write_bytes(b"secret")
    bucket = tmp_path / "storage/bucket"
    (bucket / "file").symlink_to(tmp_path / "secret/file")
    (bucket / "folder").symlink_to(tmp_path / "secret")
    (tmp_path / "storage/linked").symlink_to(tmp_path / "secret")
    for name in ("file", "folder/file"):
        with pytest.raises(StorageProblem, match="link") as problem:
            store.find("bucket", name)
        assert problem.value.status == 403
    with pytest.raises(StorageProblem, match="link"):
        put(store, "folder/new")
    with pytest.raises(StorageProblem, match="link"):
        store.find("linked", "file")
    assert names(store) == ["kept"]
    assert names(store, "folder/") == []
    assert os.listdir(tmp_path / "secret") == ["file"]


def test_a_folder_is_listed_once_and_an_empty_one_is_not(
    store: ObjectStore, tmp_path: Path
) -> None:
    for name in ("a/1", "a/2", "a/b/3", "a.txt", "top"):
        put(store, name)
    (tmp_path / "storage/bucket/empty").mkdir()
    assert names(store, "", "/") == ["a.txt", "a/", "top"]
    assert names(store, "a/", "/") == ["a/1", "a/2", "a/b/"]
    assert names(store, "a") == ["a.txt", "a/1", "a/2", "a/b/3"]
    assert names(store, "none/") == []


def test_a_missing_bucket_is_an_error(store: ObjectStore) -> None:
    with pytest.raises(NoSuchObjectError):
        list(store.list("bucket"))
    with pytest.raises(NoSuchObjectError):
        store.find("bucket", "a")


def test_a_new_object_must_be_new(store: ObjectStore) -> None:
    put(store, "a/", is_new=True)
    with pytest.raises(StorageProblem) as problem:
        put(store, "a/", is_new=True)
    assert problem.value.status == 412


def test_its_generation_changes_with_an_object(store: ObjectStore) -> None:
    put(store, "a")
    before = store.find("bucket", "a").generation
    put(store, "a")
    assert store.find("bucket", "a").generation > before


def test_what_was_not_finished_is_no_object(tmp_path: Path) -> None:
    killed = ObjectStore(str(tmp_path))
    with killed.new_file() as file:
        file.write(b"half")
    killed.make_bucket("bucket")
    assert list(killed.list("bucket")) == []
    assert list(killed) == ["bucket"]
    killed.close()
    assert os.listdir(tmp_path / UPLOADS) == []


def test_a_server_removes_what_killed_ones_have_left_and_nothing_else(tmp_path: Path) -> None:
    running, killed = ObjectStore(str(tmp_path)), ObjectStore(str(tmp_path))
    running.new_file().close()
    killed.new_file().close()
    killed._upload_lock.close()  # type: ignore[union-attr]  # as the end of its process does
    for entry in os.scandir(tmp_path / UPLOADS):
        os.utime(entry.path, (time.time() - 1000,) * 2)
    later = ObjectStore(str(tmp_path))
    later.new_file().close()
    left = {entry.path for entry in os.scandir(tmp_path / UPLOADS)}
    assert left == {running._uploads, later._uploads}


def test_only_the_default_directory_is_marked(tmp_path: Path) -> None:
    put(ObjectStore(str(tmp_path / "ours"), is_default=True), "a")
    put(ObjectStore(str(tmp_path / "theirs")), "a")
    assert (tmp_path / "ours/.gitignore").read_text() == IGNORED
    assert not (tmp_path / "theirs/.gitignore").exists()


def test_a_directory_is_made_by_the_first_object_and_not_before(tmp_path: Path) -> None:
    store = ObjectStore(str(tmp_path / "storage"), is_default=True)
    assert list(store) == []
    assert not (tmp_path / "storage").exists()
    put(store, "a")
    assert list(store) == ["bucket"]


class DiskThatIgnoresCase:
    """Calls of the system as on a disk that ignores case: a path means the entry that is there."""

    CALLS = ("lstat", "stat", "mkdir", "rmdir", "unlink", "listdir", "scandir", "utime")
    CALLS_OF_TWO = ("rename", "replace")

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root = str(root)
        self.entries = os.listdir
        for call in self.CALLS:
            patch.setattr(os, call, self.of_one(getattr(os, call)))
        for call in self.CALLS_OF_TWO:
            patch.setattr(os, call, self.of_two(getattr(os, call)))

    def meant(self, path: Any) -> Any:
        if not isinstance(path, str) or not path.startswith(self.root):
            return path
        folder = self.root
        for part in path.removeprefix(self.root).split("/"):
            try:
                entries = self.entries(folder)
            except OSError:
                entries = []
            alike = [part] if part in entries else []
            alike += [entry for entry in entries if entry.casefold() == part.casefold()]
            folder = os.path.join(folder, alike[0] if alike else part)
        return folder

    def of_one(self, call: Any) -> Any:
        return lambda path, *args, **options: call(self.meant(path), *args, **options)

    def of_two(self, call: Any) -> Any:
        return lambda source, target: call(self.meant(source), self.meant(target))


@pytest.mark.parametrize(
    ("first", "second"), [("A", "a"), ("Run/x", "run/y"), ("Run/x", "RUN"), ("run", "Run/x")]
)
def test_a_disk_that_ignores_case_loses_no_object(
    first: str, second: str, store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DiskThatIgnoresCase(tmp_path, monkeypatch)
    put(store, first, b"first")
    with pytest.raises(StorageProblem, match="differ in upper and lower case only") as problem:
        put(store, second, b"second")
    assert problem.value.status == 413
    assert not store.has("bucket", second)
    put(store, first, b"again")
    assert (names(store), content(store, first)) == ([first], b"again")
    store.delete("bucket", first)
    put(store, second, b"second")
    assert (names(store), content(store, second)) == ([second], b"second")


def test_the_file_beside_a_folder_is_kept_where_case_is_ignored(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DiskThatIgnoresCase(tmp_path, monkeypatch)
    put(store, "A/b")
    put(store, "A", b"kept")
    store.delete("bucket", "A/b")
    with pytest.raises(StorageProblem, match="differ in upper and lower case only"):
        put(store, "a")
    assert (names(store), content(store, "A")) == (["A"], b"kept")


def test_names_that_differ_in_case_live_side_by_side_on_other_disks(
    store: ObjectStore, tmp_path: Path
) -> None:
    if os.path.lexists(str(tmp_path).upper()):
        pytest.skip("the disk ignores case")
    for name in ("A", "a", "a/b", "A/B"):
        put(store, name, name.encode())
    assert names(store) == ["A", "A/B", "a", "a/b"]
