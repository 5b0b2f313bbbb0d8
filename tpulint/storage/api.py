"""The requests that TensorFlow and Python's clients send to Google Cloud Storage, answered.

The JSON API at `/storage/v1` and `/upload/storage/v1`, and reads at `/BUCKET/OBJECT`. An answer is
final: TensorFlow repeats a request for minutes if the connection breaks or the status is of 5xx.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from tpulint.storage.cloud import CloudStorage
from tpulint.storage.objects import (
    NoSuchObjectError,
    ObjectStore,
    StorageProblem,
    StoredObject,
    first_sorted,
    is_full,
)

PAGE = 1000
LONGEST_BODY_BYTES = 16 << 20
"""Of a request that is JSON; the content of objects has no limit."""
INSISTS_SECONDS = 1.0
"""Who asks for a missing bucket again in so short a time wants to write: what reads asks once."""
_BLOCK_BYTES = 1 << 18  # which fits into a processor's own memory
_TRIES = 100  # to open a file that other runs replace
_JSON_API = re.compile(r"(?:/download|(/upload|/resumable/upload))?/storage/v1/(.*)", re.DOTALL)


class StorageRequest(NamedTuple):
    """A request. `read(n)` returns up to n bytes of the body, none at its end.

    The next call may use their memory again. It raises BrokenBodyError if the connection ends
    before the body does.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    read: Callable[[int], bytes | memoryview]
    base: str
    """The address of the server, for those that it hands out."""
    wants_hashes: bool = False
    """Python's clients compare checksums; TensorFlow does not."""


@dataclass
class Answer:
    """An answer: its body, or `length` bytes of a file from here on, which the sender closes."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    file: io.FileIO | None = None
    length: int = 0


@dataclass
class BucketUse:
    """The objects of one bucket that were read and written, and their bytes."""

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    bytes_read: int = 0
    bytes_written: int = 0


@dataclass(eq=False)
class Upload:
    """What has come of an object that is written in several requests, or in one that broke off."""

    bucket: str
    name: str
    file: BinaryIO
    is_new: bool
    size: int = 0
    stored: StoredObject | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class StorageApi:
    """The service, on the objects of `store`; those that it lacks are read from `cloud`."""

    def __init__(self, store: ObjectStore, cloud: CloudStorage | None = None) -> None:
        self.store = store
        self.cloud = cloud
        self.uses: dict[str, BucketUse] = {}
        self.problems: dict[str, None] = {}
        """What the user should know: refused names, a full disk."""
        self._uploads: dict[str, Upload] = {}
        self._asked: dict[str, float] = {}
        self._missed: dict[str, float] = {}
        self._fetches: dict[tuple[str, str], threading.Lock] = {}
        self._lock = threading.Lock()

    def answer(self, request: StorageRequest) -> Answer:
        """Return the answer. Raises nothing but what `read` raises."""
        try:
            return self._route(request)
        except StorageProblem as problem:
            if problem.status in (400, 403, 413, 503):
                self.problems.setdefault(f"gs://: {problem}")
            return _failed(problem.status, str(problem))
        except (KeyError, TypeError, ValueError) as error:  # a request that makes no sense
            return _failed(400, f"{type(error).__name__}: {error}")
        except OSError as error:
            # 413 is FAILED_PRECONDITION to TensorFlow, which gives up at once, with this text.
            status = 413 if is_full(error) else 403
            message = f"{self.store.folder}: {error.strerror or error}"
            self.problems.setdefault(f"gs://: {message}")
            return _failed(status, message)

    def _route(self, request: StorageRequest) -> Answer:
        parts = urlsplit(request.target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        path = parts.path
        bucket, _, name = path.lstrip("/").partition("/")
        if service := _JSON_API.fullmatch(path):
            path = service[2]
            words = [unquote(word) for word in path.split("/")]
            answer_to = self._upload if service[1] else self._resource
            answer = answer_to(request, words, query)
            if answer is not None:
                return answer
        elif request.method == "POST" and re.fullmatch(r"/oauth2/v\d/token|/token", path):
            # Who has credentials exchanges them: they must not leave this machine.
            return _json({"access_token": "local", "expires_in": 3600, "token_type": "Bearer"})
        elif request.method in ("GET", "HEAD") and name:
            return self._media(request, unquote(bucket), unquote(name))
        raise StorageProblem(404, f"Not emulated: {request.method} {path}")

    def _resource(
        self, request: StorageRequest, words: list[str], query: dict[str, str]
    ) -> Answer | None:
        """Answer a request about a bucket or an object; None where it is not emulated."""
        match [request.method, *words]:
            case ["POST", "b"]:
                bucket = str(_body_json(request).get("name", ""))
                self.store.make_bucket(bucket)
                return self._bucket("GET", bucket)
            case [_, "b"]:
                return _json(
                    {"kind": "storage#buckets", "items": list(map(_of_bucket, self.store))}
                )
            case [method, "b", bucket]:
                return self._bucket(method, bucket)
            case ["GET", "b", bucket, "storageLayout"]:
                # TensorFlow asks before it renames a folder: objects are flat, so it renames each.
                return _json({"bucket": bucket, "hierarchicalNamespace": {"enabled": False}})
            case [method, "b", bucket, "o"]:
                if method == "GET" and not self.store.has_bucket(bucket):
                    self._missed[bucket] = time.monotonic()
                return self._list(bucket, query)
            case ["POST", "b", bucket, "o", name, "compose"]:
                sources = _body_json(request).get("sourceObjects", [])
                stored = [self._fetch(bucket, str(source["name"])) for source in sources]
                return self._count_written(self.store.join(stored, bucket, name))
            case [_, "b", bucket, "o", name, "rewriteTo" | "copyTo" as verb, "b", other, "o", copy]:
                return self._copy(verb, self._fetch(bucket, name), other, copy)
            case ["DELETE", "b", bucket, "o", name]:
                return self._delete(bucket, name)
            case ["GET", "b", bucket, "o", name] if query.get("alt") == "media":
                return self._media(request, bucket, name)
            case ["GET" | "PATCH" | "PUT", "b", bucket, "o", name]:
                return _json(resource(self._find(bucket, name)))
        return None

    def _bucket(self, method: str, bucket: str) -> Answer:
        if not self.store.has_bucket(bucket) and not (self.cloud and self.cloud.has_bucket(bucket)):
            self._make_if_insisted(bucket)
        if method == "DELETE":
            self.store.delete_bucket(bucket)
            return Answer(204)
        return _json(_of_bucket(bucket))

    def _make_if_insisted(self, bucket: str) -> None:
        """Make the bucket if TensorFlow wants to make folders in it.

        Its `makedirs` asks for the folders first, which are not there, and then for the bucket. If
        that is missing, it asks again for ever, or once and raises an error (2.12).
        """
        now = time.monotonic()
        with self._lock:
            last_asked = max(self._asked.get(bucket, -1e9), self._missed.get(bucket, -1e9))
            self._asked[bucket] = now
        if now - last_asked >= INSISTS_SECONDS:
            raise NoSuchObjectError(f"The specified bucket does not exist: {bucket}")
        self.store.make_bucket(bucket)

    def _list(self, bucket: str, query: dict[str, str]) -> Answer:
        most = min(int(query.get("maxResults") or PAGE), PAGE)
        items = self._items(bucket, query.get("prefix", ""), query.get("delimiter", ""))
        page = first_sorted(items, most + (most > 2), unquote(query.get("pageToken", "")))
        listed = page[:most]
        answer: dict[str, Any] = {"kind": "storage#objects"}
        if len(page) > most:
            answer["nextPageToken"] = quote(listed[-1].name)
        answer["items"] = [resource(item) for item in listed if not item.is_folder]
        answer["prefixes"] = [item.name for item in listed if item.is_folder]
        return _json(answer)

    def _items(self, bucket: str, prefix: str, delimiter: str) -> Iterator[StoredObject]:
        """Yield the objects and folders, those of the directory before the others of the cloud."""
        names: set[str] = set()
        is_here = self.store.has_bucket(bucket)
        if self.cloud is None or is_here:
            for item in self.store.list(bucket, prefix, delimiter):
                names.add(item.name)
                yield item
        if self.cloud is not None:
            try:
                for item in self.cloud.list(bucket, prefix, delimiter):
                    if item.name not in names:
                        yield item
            except NoSuchObjectError:
                if not is_here:
                    raise

    def _find(self, bucket: str, name: str) -> StoredObject:
        """Return what is known of an object, which may be in the cloud."""
        try:
            return self.store.find(bucket, name)
        except NoSuchObjectError:
            if self.cloud is None:
                raise
            return self.cloud.find(bucket, name)

    def _fetch(self, bucket: str, name: str) -> StoredObject:
        """Return an object of the directory, which is copied from the cloud where it is missing."""
        stored = self._find(bucket, name)
        if stored.path or self.cloud is None:
            return stored
        with self._lock:
            lock = self._fetches.setdefault((bucket, name), threading.Lock())
        with lock:
            with contextlib.suppress(NoSuchObjectError):
                return self.store.find(bucket, name)
            with self.store.new_object() as file:
                self.cloud.read(bucket, name, file)
                return self.store.commit(file.name, bucket, name)

    def _delete(self, bucket: str, name: str) -> Answer:
        if not self.store.has(bucket, name) and self.cloud is not None:
            self.cloud.find(bucket, name)
            raise StorageProblem(
                403, f"gs://{bucket}/{name} is in the cloud only, where nothing is deleted"
            )
        self.store.delete(bucket, name)
        return Answer(204)

    def _media(self, request: StorageRequest, bucket: str, name: str) -> Answer:
        """Answer a read, of a range or of all.

        The open file stays as it is: objects are renamed when they are complete.
        """
        for _ in range(_TRIES):
            stored = self._fetch(bucket, name)
            # Another run may have replaced or deleted it just now.
            with contextlib.suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError):
                file = io.FileIO(stored.path)
                break
        else:
            raise OSError(f"gs://{bucket}/{name} changes all the time")
        status = os.fstat(file.fileno())
        stored = stored._replace(size=status.st_size, modified_ns=status.st_mtime_ns)
        start, end = 0, stored.size
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("Range", ""))
        headers = {
            "Content-Type": "application/octet-stream",
            "X-Goog-Generation": str(stored.generation),
            "X-Goog-Stored-Content-Length": str(stored.size),
            "ETag": f'"{stored.generation}"',
            "Accept-Ranges": "bytes",
        }
        if wanted and (wanted[1] or wanted[2]):
            if wanted[1]:
                start = int(wanted[1])
                end = min(end, int(wanted[2]) + 1) if wanted[2] else end
            else:
                start = max(0, end - int(wanted[2]))
            if start >= stored.size:
                file.close()
                return Answer(416, {**headers, "Content-Range": f"bytes */{stored.size}"})
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{stored.size}"
        length = end - start
        with self._lock:
            use = self.uses.setdefault(bucket, BucketUse())
            use.read.add(name)
            use.bytes_read += length
        file.seek(start)
        return Answer(206 if wanted else 200, headers, b"", file, length)

    def _copy(self, verb: str, source: StoredObject, bucket: str, name: str) -> Answer:
        copied = self.store.join([source], bucket, name)
        answer = self._count_written(copied)
        if verb == "copyTo":
            return answer
        return _json(
            {
                "kind": "storage#rewriteResponse",
                "totalBytesRewritten": str(copied.size),
                "objectSize": str(copied.size),
                "done": True,
                "resource": resource(copied),
            }
        )

    # Writing: in one request, or begun by one that hands out an address for the others.

    def _upload(
        self, request: StorageRequest, words: list[str], query: dict[str, str]
    ) -> Answer | None:
        if len(words) != 3 or words[0] != "b" or words[2] != "o":
            return None
        if "upload_id" in query:
            return self._continue(request, query["upload_id"])
        bucket, name, kind = words[1], query.get("name", ""), query.get("uploadType")
        is_new = query.get("ifGenerationMatch") == "0"
        blocks: Iterable[bytes | memoryview] = iter(lambda: request.read(_BLOCK_BYTES), b"")
        if kind == "resumable":
            name = name or str(_body_json(request).get("name", ""))
        elif kind == "multipart":
            described, content = _multipart(request)
            name, blocks = str(described.get("name") or name), [content]
        # Names that no object can have are refused before the content comes.
        if not name:
            raise StorageProblem(400, "Required parameter: name")
        self.store.path_of(bucket, name)
        if kind == "resumable":
            number = secrets.token_hex(16)
            upload = Upload(bucket, name, self.store.new_file(), is_new)
            with self._lock:
                self._uploads[number] = upload
            address = f"{request.base}/upload/storage/v1/b/{bucket}/o?uploadType=resumable"
            return Answer(200, {"Location": f"{address}&upload_id={number}"})
        with self.store.new_object() as file:
            for block in blocks:
                file.write(block)
            stored = self.store.commit(file.name, bucket, name, is_new=is_new)
        return self._count_written(stored, hashes=request.wants_hashes)

    def _continue(self, request: StorageRequest, number: str) -> Answer:
        """Take some of the content of an object, or say how much of it has come."""
        upload = self._uploads.get(number)  # another request may drop it
        if upload is None:
            raise StorageProblem(410, "There is no such upload")
        if request.method == "DELETE":
            self._drop(number)
            return Answer(499)
        content_range = re.fullmatch(
            r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)", request.headers.get("Content-Range", "bytes 0-*")
        )
        with upload.lock:
            if upload.stored is not None:
                return _json(resource(upload.stored, hashes=request.wants_hashes))
            total = int(content_range[3]) if content_range and content_range[3] != "*" else None
            if content_range is None or content_range[1] is not None:
                start = int(content_range[1]) if content_range and content_range[1] else 0
                if start > upload.size:
                    return _incomplete(upload)
                self._append(request, number, upload, start)
                if content_range is None:
                    total = upload.size
            if total is None or upload.size < total:
                return _incomplete(upload)
            upload.file.close()
            upload.stored = self.store.commit(
                upload.file.name, upload.bucket, upload.name, is_new=upload.is_new
            )
        return self._count_written(upload.stored, hashes=request.wants_hashes)

    def _append(self, request: StorageRequest, number: str, upload: Upload, start: int) -> None:
        """Write what comes; if the connection ends before it does, what has come counts."""
        upload.file.seek(start)
        upload.size = start
        try:
            while block := request.read(_BLOCK_BYTES):
                upload.file.write(block)
                upload.size += len(block)
        except OSError:
            self._drop(number)
            raise

    def _drop(self, number: str) -> None:
        with self._lock:
            upload = self._uploads.pop(number)
        upload.file.close()
        with contextlib.suppress(OSError):
            os.unlink(upload.file.name)

    def _count_written(self, stored: StoredObject, *, hashes: bool = False) -> Answer:
        """Count an object that was written, and describe it."""
        with self._lock:
            use = self.uses.setdefault(stored.bucket, BucketUse())
            use.written.add(stored.name)
            use.bytes_written += stored.size
        return _json(resource(stored, hashes=hashes))


class BrokenBodyError(Exception):
    """The connection has ended before the body of a request: no error of the disk."""


def bucket_of(target: str) -> str:
    """Return the bucket that a request is about; nothing if it is about none."""
    path = urlsplit(target).path
    if service := _JSON_API.fullmatch(path):
        path = service[2].removeprefix("b")
    return unquote(path.lstrip("/").partition("/")[0])


def resource(stored: StoredObject, *, hashes: bool = False) -> dict[str, Any]:
    """Return what the service says about an object."""
    seconds = stored.modified_ns / 1e9
    updated = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    described = {
        "kind": "storage#object",
        "id": f"{stored.bucket}/{stored.name}/{stored.generation}",
        "name": stored.name,
        "bucket": stored.bucket,
        "size": str(stored.size),
        "generation": str(stored.generation),
        "metageneration": "1",
        "updated": updated,
        "timeCreated": updated,
        "storageClass": "STANDARD",
        "contentType": "application/octet-stream",
        "etag": str(stored.generation),
    }
    return {**described, **_hashes(stored.path)} if hashes else described


def _hashes(path: str) -> dict[str, str]:
    """Return the checksums that Python's clients compare with their own.

    One is of a package that comes with the client that asks for it.
    """
    sums = {"md5Hash": hashlib.md5(usedforsecurity=False)}
    with contextlib.suppress(ImportError):
        import google_crc32c

        sums["crc32c"] = google_crc32c.Checksum()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            for checksum in sums.values():
                checksum.update(block)
    return {name: base64.b64encode(value.digest()).decode() for name, value in sums.items()}


def _of_bucket(bucket: str) -> dict[str, Any]:
    return {
        "kind": "storage#bucket",
        "id": bucket,
        "name": bucket,
        "location": "US",
        "locationType": "multi-region",
        "storageClass": "STANDARD",
    }


def _incomplete(upload: Upload) -> Answer:
    return Answer(308, {"Range": f"bytes=0-{upload.size - 1}"} if upload.size else {})


def _json(body: Mapping[str, Any]) -> Answer:
    return Answer(200, {"Content-Type": "application/json"}, json.dumps(body).encode())


def _failed(status: int, message: str) -> Answer:
    errors = [{"domain": "global", "reason": "tpulint", "message": message}]
    answer = _json({"error": {"code": status, "message": message, "errors": errors}})
    answer.status = status
    return answer


def _body(request: StorageRequest) -> bytes:
    body = bytearray()
    while block := request.read(_BLOCK_BYTES):
        body += block
        if len(body) > LONGEST_BODY_BYTES:
            raise StorageProblem(413, "The body of the request is too long")
    return bytes(body)


def _body_json(request: StorageRequest) -> dict[str, Any]:
    try:
        body = json.loads(_body(request) or b"{}")
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise StorageProblem(400, "The body of the request is no JSON object")
    return body


def _multipart(request: StorageRequest) -> tuple[dict[str, Any], bytes]:
    """Return the description and the content of an object, the two parts of a request."""
    boundary = re.search(r'boundary="?([^";]+)', request.headers.get("Content-Type", ""))
    contents: list[bytes] = []
    if boundary:
        body, line = _body(request), b"--" + boundary[1].encode()
        end = b"\r\n" if body.startswith(line + b"\r\n") else b"\n"  # gcsfs sends the second
        parts = (end + body).split(end + line)[1:3]
        contents = [part.partition(end + end)[2] for part in parts]
    with contextlib.suppress(ValueError):
        if len(contents) == 2:
            return dict(json.loads(contents[0])), contents[1]
    raise StorageProblem(400, "The body of the request has not the two parts of an upload")
