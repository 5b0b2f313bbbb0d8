"""The requests of TensorFlow and of Python's clients, without sockets."""

from __future__ import annotations

import contextlib
import io
import json
import resource
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request

import pytest

from tpulint.storage.api import Answer, BrokenBodyError, StorageApi, StorageRequest
from tpulint.storage.cloud import CloudStorage
from tpulint.storage.objects import NoSuchObjectError, ObjectStore, StorageProblem

BASE = "https://www.googleapis.com"


@pytest.fixture(name="api")
def api_fixture(tmp_path: Path) -> StorageApi:
    return StorageApi(ObjectStore(str(tmp_path)))


def ask(api: StorageApi, method: str, target: str, body: bytes = b"", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.answer(StorageRequest(method, target, named, io.BytesIO(body).read, BASE))


def said(answer: Answer) -> Any:
    assert answer.headers["Content-Type"] == "application/json"
    return json.loads(answer.body)


def put(api: StorageApi, name: str, content: bytes, bucket: str = "bucket") -> Answer:
    target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(name, safe='')}"
    return ask(api, "POST", target, content)


def begun(api: StorageApi, name: str = "big") -> str:
    answer = ask(api, "POST", f"/upload/storage/v1/b/bucket/o?uploadType=resumable&name={name}")
    assert answer.headers["Location"].startswith(BASE)
    return answer.headers["Location"].removeprefix(BASE)


def read(api: StorageApi, name: str, **headers: str) -> tuple[int, bytes]:
    answer = ask(api, "GET", f"/bucket/{quote(name, safe='')}", **headers)
    if answer.file is None:
        return answer.status, answer.body
    with answer.file as file:
        return answer.status, file.read(answer.length)


def test_an_object_is_written_in_one_request_and_read_in_ranges(api: StorageApi) -> None:
    assert said(put(api, "a/b c", b"0123456789"))["size"] == "10"
    assert read(api, "a/b c") == (200, b"0123456789")
    assert read(api, "a/b c", Range="bytes=2-4") == (206, b"234")
    assert read(api, "a/b c", Range="bytes=8-1000") == (206, b"89")
    assert read(api, "a/b c", Range="bytes=7-") == (206, b"789")
    assert read(api, "a/b c", Range="bytes=-3") == (206, b"789")
    assert read(api, "a/b c", Range="bytes=10-12")[0] == 416
    stat = said(ask(api, "GET", "/storage/v1/b/bucket/o/a%2Fb%20c?fields=size,generation,updated"))
    assert stat["size"] == "10"
    assert stat["updated"].endswith("Z")


def test_an_object_that_another_run_replaces_is_read_as_a_whole(
    api: StorageApi, tmp_path: Path
) -> None:
    """The answer describes the object that it has open, whatever becomes of its name."""
    put(api, "a", b"short")
    before = ask(api, "GET", "/bucket/a")
    put(api, "a", b"much longer")
    after = ask(api, "GET", "/bucket/a")
    (tmp_path / "bucket" / "a").unlink()
    assert ask(api, "GET", "/bucket/a").status == 404
    for answer, content in ((before, b"short"), (after, b"much longer")):
        assert answer.file is not None
        with answer.file as file:
            assert (answer.length, file.read()) == (len(content), content)


def test_an_object_that_another_run_replaces_while_it_is_opened_is_found_again(
    api: StorageApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(api, "a", b"content")
    find = api.store.find
    stale = find("bucket", "a")._replace(path="/no/such/file", size=3)
    answers = iter([stale, stale])
    monkeypatch.setattr(api.store, "find", lambda *name: next(answers, None) or find(*name))
    assert read(api, "a") == (200, b"content")
    monkeypatch.setattr(api.store, "find", lambda *name: stale)
    assert ask(api, "GET", "/bucket/a").status == 403


def test_a_missing_object_is_an_answer(api: StorageApi) -> None:
    for bucket in ("bucket", "missing"):
        put(api, "there", b"")
        assert ask(api, "GET", f"/storage/v1/b/{bucket}/o/none").status == 404
        assert ask(api, "GET", f"/{bucket}/none").status == 404
        assert ask(api, "DELETE", f"/storage/v1/b/{bucket}/o/none").status == 404
    assert ask(api, "GET", "/storage/v1/b/missing/o?prefix=a").status == 404
    assert not api.problems


def test_a_bucket_is_there_once_something_is_written(api: StorageApi) -> None:
    assert ask(api, "GET", "/storage/v1/b/bucket").status == 404
    put(api, "a", b"")
    assert ask(api, "GET", "/storage/v1/b/bucket").status == 200


def test_a_bucket_that_tensorflow_asks_for_again_is_made(api: StorageApi) -> None:
    """Its `makedirs` takes a missing bucket for its own parent, and asks for ever (2.12: twice)."""
    statuses = [ask(api, "GET", "/storage/v1/b/bucket").status for _ in range(3)]
    assert statuses == [404, 200, 200]
    assert ask(api, "GET", "/storage/v1/b/another").status == 404


def test_folders_are_no_things_of_their_own(api: StorageApi) -> None:
    """TensorFlow 2.21 asks before it renames one."""
    answer = said(ask(api, "GET", "/storage/v1/b/bucket/storageLayout"))
    assert answer["hierarchicalNamespace"] == {"enabled": False}


def test_a_bucket_that_folders_are_made_in_is_made(api: StorageApi) -> None:
    """TensorFlow 2.12 does not ask again."""
    assert ask(api, "GET", "/storage/v1/b/bucket/o?prefix=a/&maxResults=1").status == 404
    assert ask(api, "GET", "/storage/v1/b/another").status == 404
    assert ask(api, "GET", "/storage/v1/b/bucket").status == 200


def test_an_object_is_written_in_several_requests(api: StorageApi) -> None:
    place = begun(api)
    first = ask(api, "PUT", place, b"01234", Content_Range="bytes 0-4/10")
    assert (first.status, first.headers["Range"]) == (308, "bytes=0-4")
    assert ask(api, "GET", "/storage/v1/b/bucket/o/big").status == 404
    second = ask(api, "PUT", place, b"56789", Content_Range="bytes 5-9/10")
    assert said(second)["size"] == "10"
    assert read(api, "big") == (200, b"0123456789")
    assert said(ask(api, "PUT", place, Content_Range="bytes */10"))["size"] == "10"


def test_an_upload_that_broke_off_goes_on_where_it_was(api: StorageApi) -> None:
    place = begun(api)
    blocks = [b"0123"]

    def broken(size: int) -> bytes:
        if blocks:
            return blocks.pop()
        raise BrokenBodyError

    headers = {"Content-Range": "bytes 0-9/10"}
    with pytest.raises(BrokenBodyError):
        api.answer(StorageRequest("PUT", place, headers, broken, BASE))
    answer = ask(api, "PUT", place, Content_Range="bytes */10")
    assert (answer.status, answer.headers["Range"]) == (308, "bytes=0-3")
    assert ask(api, "PUT", place, b"456789", Content_Range="bytes 4-9/10").status == 200
    assert read(api, "big") == (200, b"0123456789")


def test_nothing_has_come_of_an_upload_that_broke_off_at_once(api: StorageApi) -> None:
    answer = ask(api, "PUT", begun(api), Content_Range="bytes */10")
    assert (answer.status, answer.headers) == (308, {})


def test_an_empty_object_is_written(api: StorageApi) -> None:
    assert ask(api, "PUT", begun(api, "empty"), Content_Range="bytes */0").status == 200
    assert read(api, "empty")[1] == b""


def test_an_upload_that_nobody_began_is_refused(api: StorageApi) -> None:
    target = "/upload/storage/v1/b/bucket/o?uploadType=resumable&upload_id=none"
    assert ask(api, "PUT", target, b"x", Content_Range="bytes 0-0/1").status == 410


def test_an_upload_of_python_has_a_description_and_a_content(api: StorageApi) -> None:
    content = b"a\r\n--other\r\n\r\n\0"
    body = (
        b'--==x==\r\ncontent-type: application/json\r\n\r\n{"name": "a/b"}\r\n'
        b"--==x==\r\ncontent-type: image/png\r\n\r\n" + content + b"\r\n--==x==--"
    )
    target = "/upload/storage/v1/b/bucket/o?uploadType=multipart"
    kind = 'multipart/related; boundary="==x=="'
    assert said(ask(api, "POST", target, body, Content_Type=kind))["name"] == "a/b"
    assert read(api, "a/b") == (200, content)
    assert ask(api, "POST", target, b"nothing", Content_Type=kind).status == 400


def test_a_listing_has_pages(api: StorageApi) -> None:
    for number in range(7):
        put(api, f"data/{number}", b"")
    target, names = "/storage/v1/b/bucket/o?prefix=data/&maxResults=3&delimiter=/", []
    token = ""
    while True:
        page = said(ask(api, "GET", f"{target}&pageToken={token}"))
        names += [item["name"] for item in page["items"]]
        if "nextPageToken" not in page:
            break
        token = quote(page["nextPageToken"])
    assert names == [f"data/{number}" for number in range(7)]
    assert said(ask(api, "GET", "/storage/v1/b/bucket/o?delimiter=/"))["prefixes"] == ["data/"]
    assert len(said(ask(api, "GET", "/storage/v1/b/bucket/o?maxResults=1"))["items"]) == 1


def test_an_object_is_copied_joined_and_deleted(api: StorageApi) -> None:
    put(api, "a", b"1")
    put(api, "b", b"2")
    target = "/storage/v1/b/bucket/o/a/rewriteTo/b/other-bucket/o/x%2Fy"
    assert said(ask(api, "POST", target))["done"] is True
    assert ask(api, "GET", "/storage/v1/b/other-bucket/o/x%2Fy").status == 200
    sources = json.dumps({"sourceObjects": [{"name": "a"}, {"name": "b"}]}).encode()
    ask(api, "POST", "/storage/v1/b/bucket/o/a/compose", sources)
    assert read(api, "a") == (200, b"12")
    assert ask(api, "DELETE", "/storage/v1/b/bucket/o/a").status == 204
    assert ask(api, "DELETE", "/storage/v1/b/bucket/o/a").status == 404


def test_a_folder_that_exists_is_not_made_again(api: StorageApi) -> None:
    target = "/upload/storage/v1/b/bucket/o?uploadType=media&name=a%2F&ifGenerationMatch=0"
    assert [ask(api, "POST", target).status for _ in range(2)] == [200, 412]


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Like a full disk, the system takes the first bytes of a block, and then no more."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", ["kept", "new"])
@pytest.mark.parametrize("way", ["resumable", "media", "multipart", "copy"])
def test_a_full_disk_is_an_answer_and_loses_nothing(
    way: str, name: str, api: StorageApi, tmp_path: Path
) -> None:
    put(api, "kept", b"before")
    put(api, "long", b"0123456789")
    place = begun(api, name)
    described = json.dumps({"name": name}).encode()
    parts = b"--b\r\n\r\n" + described + b"\r\n--b\r\n\r\n0123456789\r\n--b--"
    with largest_file(4):
        if way == "resumable":
            answer = ask(api, "PUT", place, b"0123456789", Content_Range="bytes 0-9/10")
        elif way == "media":
            answer = put(api, name, b"0123456789")
        elif way == "multipart":
            target = "/upload/storage/v1/b/bucket/o?uploadType=multipart"
            answer = ask(api, "POST", target, parts, Content_Type="multipart/related; boundary=b")
        else:
            target = f"/storage/v1/b/bucket/o/long/rewriteTo/b/bucket/o/{name}"
            answer = ask(api, "POST", target)
    assert answer.status == 413  # FAILED_PRECONDITION, which TensorFlow does not try again
    assert "File too large" in said(answer)["error"]["message"]
    assert read(api, "kept") == (200, b"before")
    assert ask(api, "GET", "/storage/v1/b/bucket/o/new").status == 404
    assert ["File too large" in problem for problem in api.problems] == [True]


@pytest.mark.parametrize("name", ["%0A", "a" * 1100])
def test_a_name_that_no_object_has_is_a_final_error(name: str, api: StorageApi) -> None:
    target = f"/upload/storage/v1/b/bucket/o?uploadType=resumable&name={name}"
    assert ask(api, "POST", target).status == 400
    assert ask(api, "GET", f"/bucket/{name}").status == 400


def test_credentials_are_exchanged_for_nothing(api: StorageApi) -> None:
    body = b"refresh_token=secret"
    assert said(ask(api, "POST", "/oauth2/v3/token", body))["access_token"] == "local"


def test_what_is_not_emulated_says_so(api: StorageApi) -> None:
    answer = ask(api, "POST", "/storage/v1/b/bucket/o/a/acl")
    assert answer.status == 404
    assert "Not emulated" in said(answer)["error"]["message"]


def test_a_request_that_makes_no_sense_is_answered(api: StorageApi) -> None:
    put(api, "a", b"")
    assert ask(api, "GET", "/storage/v1/b/bucket/o?maxResults=many").status == 400
    body = b'{"sourceObjects": [{}]}'
    assert ask(api, "POST", "/storage/v1/b/bucket/o/a/compose", body).status == 400


def test_objects_and_bytes_are_counted(api: StorageApi) -> None:
    put(api, "a", b"0123456789")
    for _ in range(2):
        read(api, "a", Range="bytes=0-3")
    use = api.uses["bucket"]
    assert (use.read, use.bytes_read, use.written, use.bytes_written) == ({"a"}, 8, {"a"}, 10)


# What a directory lacks comes from the cloud: here from a second service.


class OtherCloud(CloudStorage):
    """The cloud, whose requests go to another service in place of the network."""

    def __init__(self, api: StorageApi) -> None:
        super().__init__({"STORAGE_EMULATOR_HOST": "http://cloud"})
        self.api = api
        self.asked: list[str] = []

    def _asked(self, path: str) -> Any:
        self.asked.append(path)
        answer = ask(self.api, "GET", f"/storage/v1/{path}")
        if answer.status == 404:
            raise NoSuchObjectError(path)
        body = answer.body
        if answer.file is not None:
            with answer.file as content:
                body = content.read()
        file = io.BytesIO(body)
        file.length = 0  # type: ignore[attr-defined]
        return file


@pytest.fixture(name="clouded")
def clouded_fixture(tmp_path: Path) -> StorageApi:
    cloud = StorageApi(ObjectStore(str(tmp_path / "cloud")))
    for name in ("data/0", "data/1", "data/more/2", "both"):
        put(cloud, name, f"cloud's {name}".encode())
    api = StorageApi(ObjectStore(str(tmp_path / "here")), OtherCloud(cloud))
    put(api, "both", b"here")
    put(api, "data/9", b"here")
    return api


def test_a_missing_object_is_copied_from_the_cloud_once(
    clouded: StorageApi, tmp_path: Path
) -> None:
    stat = said(ask(clouded, "GET", "/storage/v1/b/bucket/o/data%2F0"))
    assert stat["size"] == str(len("cloud's data/0"))
    assert not (tmp_path / "here/bucket/data/0").exists()
    assert read(clouded, "data/0") == (200, b"cloud's data/0")
    assert (tmp_path / "here/bucket/data/0").read_bytes() == b"cloud's data/0"
    (tmp_path / "cloud/bucket/data/0").unlink()
    assert read(clouded, "data/0", Range="bytes=0-4") == (206, b"cloud")


def test_what_is_here_hides_what_is_in_the_cloud(clouded: StorageApi) -> None:
    assert read(clouded, "both") == (200, b"here")


def test_a_listing_has_both(clouded: StorageApi) -> None:
    page = said(ask(clouded, "GET", "/storage/v1/b/bucket/o?prefix=data/&delimiter=/"))
    assert [item["name"] for item in page["items"]] == ["data/0", "data/1", "data/9"]
    assert page["prefixes"] == ["data/more/"]
    assert len(said(ask(clouded, "GET", "/storage/v1/b/bucket/o"))["items"]) == 5
    assert ask(clouded, "GET", "/storage/v1/b/missing/o").status == 404


def test_nothing_is_written_to_the_cloud(clouded: StorageApi, tmp_path: Path) -> None:
    def contents() -> dict[str, bytes]:
        files = (tmp_path / "cloud").rglob("*")
        return {str(path): path.read_bytes() for path in files if path.is_file()}

    before = contents()
    put(clouded, "data/1", b"new")
    ask(clouded, "POST", "/storage/v1/b/bucket/o/data%2F0/rewriteTo/b/bucket/o/copy")
    assert ask(clouded, "DELETE", "/storage/v1/b/bucket/o/data%2Fmore%2F2").status == 403
    assert ask(clouded, "DELETE", "/storage/v1/b/bucket/o/copy").status == 204
    assert ask(clouded, "DELETE", "/storage/v1/b/bucket/o/copy").status == 404
    assert contents() == before


def test_what_neither_has_is_missing(clouded: StorageApi) -> None:
    assert ask(clouded, "GET", "/storage/v1/b/bucket/o/none").status == 404
    assert read(clouded, "none")[0] == 404
    assert ask(clouded, "GET", "/storage/v1/b/missing").status == 404


@pytest.mark.parametrize(("statuses", "is_read"), [([503, 429, 200], True), ([500] * 3, False)])
def test_a_busy_cloud_is_asked_three_times(
    statuses: list[int], is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = iter(statuses)

    def answer(request: Request, timeout: float) -> io.BytesIO:
        status = next(asked)
        if status != 200:
            raise HTTPError(request.full_url, status, "busy", Message(), None)
        return io.BytesIO(b'{"name": "a", "size": "7", "updated": "1970-01-01T00:00:01Z"}')

    monkeypatch.setattr("urllib.request.urlopen", answer)
    cloud = CloudStorage({"STORAGE_EMULATOR_HOST": "http://cloud"})
    if is_read:
        stored = cloud.find("bucket", "a")
        assert (stored.size, stored.modified_ns) == (7, 1_000_000_000)
    else:
        with pytest.raises(StorageProblem, match="http://cloud answers 500 busy"):
            cloud.find("bucket", "a")
    assert not list(asked)
