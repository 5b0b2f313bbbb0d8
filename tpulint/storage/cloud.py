"""Google Cloud Storage itself, which is only read: for objects that a directory does not have.

With the user's own credentials: google-auth's if it is installed, or the `gcloud` command's, or
none, which is enough for public buckets. `STORAGE_EMULATOR_HOST` names another server, as it does
for Google's own clients.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import datetime
from http.client import HTTPException, HTTPResponse
from typing import Any, BinaryIO
from urllib.parse import quote, urlencode

from tpulint.storage.objects import NoSuchObjectError, StorageProblem, StoredObject

ADDRESS = "https://storage.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"
SECONDS = 60.0
_BLOCK_BYTES = 1 << 20
_ATTEMPTS = 3
_FIELDS = "name,size,updated"


class CloudStorage:
    """The buckets in the cloud. It sends GET requests, and no others."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        address = environment.get("STORAGE_EMULATOR_HOST")
        self.address = (address or ADDRESS).rstrip("/")
        if "//" not in self.address:
            self.address = f"http://{self.address}"
        self._is_google = not address
        self._credentials: Any = None
        self._lock = threading.Lock()

    def find(self, bucket: str, name: str) -> StoredObject:
        """Return what there is to know of an object: its `path` is empty."""
        item = self._json(f"b/{quote(bucket)}/o/{quote(name, safe='')}", {"fields": _FIELDS})
        return _stored(bucket, item)

    def has_bucket(self, bucket: str) -> bool:
        """Return whether the bucket is there: who reads objects need not see the bucket itself."""
        try:
            self._json(f"b/{quote(bucket)}/o", {"maxResults": "1", "fields": "nextPageToken"})
        except NoSuchObjectError:
            return False
        return True

    def list(self, bucket: str, prefix: str, delimiter: str) -> Iterator[StoredObject]:
        """Yield the objects and folders whose names begin with `prefix`, all without a `path`."""
        fields = f"items({_FIELDS}),prefixes,nextPageToken"
        query = {"prefix": prefix, "delimiter": delimiter, "fields": fields}
        while True:
            page = self._json(f"b/{quote(bucket)}/o", query)
            yield from (_stored(bucket, item) for item in page.get("items", ()))
            for folder in page.get("prefixes", ()):
                yield StoredObject(bucket, folder, "", 0, 0, is_folder=True)
            if "nextPageToken" not in page:
                return
            query["pageToken"] = page["nextPageToken"]

    def read(self, bucket: str, name: str, file: BinaryIO) -> None:
        """Write the content of an object to `file`."""
        path = f"b/{quote(bucket)}/o/{quote(name, safe='')}?alt=media"
        with self._asked(path) as answer, _problems_of(self.address):
            shutil.copyfileobj(answer, file, _BLOCK_BYTES)
            if answer.length:  # it has ended before its end
                raise StorageProblem(403, f"{self.address} broke off in gs://{bucket}/{name}")

    def _json(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        with self._asked(f"{path}?{urlencode(query)}") as answer, _problems_of(self.address):
            body: dict[str, Any] = json.load(answer)
            return body

    def _asked(self, path: str) -> HTTPResponse:
        request = urllib.request.Request(f"{self.address}/storage/v1/{path}")
        if self._is_google:
            with self._lock:
                self._credentials = self._credentials or _credentials()
                token = self._credentials()
            if token:
                request.add_header("Authorization", f"Bearer {token}")
        for left in range(_ATTEMPTS - 1, -1, -1):
            with _problems_of(self.address):
                try:
                    answer: HTTPResponse = urllib.request.urlopen(request, timeout=SECONDS)
                    return answer
                except urllib.error.HTTPError as error:
                    is_busy = error.code in (408, 429) or error.code >= 500
                    if not is_busy or not left:
                        raise
                    error.close()
        raise AssertionError("an attempt returns or raises")


@contextlib.contextmanager
def _problems_of(address: str) -> Iterator[None]:
    """Turn what goes wrong with the cloud into final answers, which say so."""
    try:
        yield
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 404:
                raise NoSuchObjectError(f"There is no such object in {address} either") from None
            raise StorageProblem(403, f"{address} answers {error.code} {error.reason}") from None
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise StorageProblem(403, f"{address} cannot be read: {reason}") from None


def _credentials() -> Any:
    """Return a function that returns a token that is valid now, or None."""
    with contextlib.suppress(Exception):  # none, or wrong ones: the next place may have some
        import google.auth
        import google.auth.transport.requests

        credentials, _ = google.auth.default(scopes=[SCOPE])

        def token() -> Any:
            if not credentials.valid:
                credentials.refresh(google.auth.transport.requests.Request())
            return credentials.token

        token()
        return token
    command = shutil.which("gcloud")
    if command is None:
        return lambda: None

    def printed() -> str | None:
        words = [command, "auth", "print-access-token"]
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return done.stdout.strip() or None

    return printed


def _stored(bucket: str, item: Mapping[str, Any]) -> StoredObject:
    updated = str(item.get("updated", "")).replace("Z", "+00:00")
    seconds = 0.0
    with contextlib.suppress(ValueError):  # none, or with digits that Python 3.10 does not read
        seconds = datetime.fromisoformat(updated).timestamp()
    size = int(item.get("size", 0))
    return StoredObject(bucket, str(item["name"]), "", size, int(seconds * 1e9))
