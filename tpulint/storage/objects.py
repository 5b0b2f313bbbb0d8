"""Objects of buckets as files: `gs://bucket/a/b` is `DIR/bucket/a/b`.

Objects are flat, and files are not. What a file cannot be called is escaped, each part of a name
by itself: "%=" and the part in percent encoding (`..` is "%=.."); a part that is too long goes
over several folders, "%+" and some of it; and the object `a` beside `a/b` is the file "%file=a".
A file is complete when it gets its name: it is written elsewhere in DIR, and then renamed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import itertools
import os
import re
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import quote, unquote

BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
QUOTED, CONTINUED, BESIDE = "%=", "%+", "%file="
LONGEST_PART_BYTES = 255 - len(BESIDE)
LONGEST_NAME_BYTES = 1024  # of Google Cloud Storage
UPLOADS = ".uploads"
IGNORED = """\
# The buckets of programs that ran under `tpulint run`: gs://BUCKET/OBJECT is BUCKET/OBJECT.
# Nothing of tpulint deletes them.
*
"""
_ATTEMPTS = 100
_BLOCK_BYTES = 1 << 20
_ABANDONED_SECONDS = 60.0


class _WholeFile(io.FileIO):
    """A file without a buffer that takes all of a block, or raises an error.

    Where a disk becomes full, the system takes the beginning, and only the next block fails.
    """

    def write(self, block: Any) -> int:
        left = memoryview(block)
        while left:
            left = left[super().write(left) :]
        return len(block)


class StorageProblem(Exception):
    """A request that cannot be served. `status` is that of HTTP, by which TensorFlow fails."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class NoSuchObjectError(StorageProblem):
    """There is no such object or bucket."""

    def __init__(self, message: str) -> None:
        super().__init__(404, message)


class StoredObject(NamedTuple):
    """An object: its file, and what a program can ask of it.

    The file of one in the cloud has no path. A folder of a listing is one, too.
    """

    bucket: str
    name: str
    path: str
    size: int
    modified_ns: int
    is_folder: bool = False

    @property
    def generation(self) -> int:
        """Return the number that changes when the object does."""
        return self.modified_ns // 1000


class ObjectStore:
    """The buckets in `folder`, which is made when something is written to it.

    is_default: it is tpulint's own directory, and gets a `.gitignore`.
    """

    def __init__(self, folder: str, *, is_default: bool = False) -> None:
        self.folder = os.path.realpath(folder)
        self.is_default = is_default
        self._lock = threading.RLock()
        self._uploads: str | None = None
        self._upload_lock: BinaryIO | None = None
        self._ignores_case: bool | None = None
        """Whether `a` and `A` are one file on this disk; None until a file has shown it."""
        if is_default and os.path.isdir(self.folder):
            self._mark()

    def has_bucket(self, bucket: str) -> bool:
        return os.path.isdir(self._bucket(bucket))

    def __iter__(self) -> Iterator[str]:
        with contextlib.suppress(FileNotFoundError):
            names = filter(BUCKET.fullmatch, sorted(os.listdir(self.folder)))
            yield from filter(self.has_bucket, names)

    def make_bucket(self, bucket: str) -> None:
        """Make an empty bucket."""
        try:
            os.makedirs(self._bucket(bucket))
        except FileExistsError:
            raise StorageProblem(409, f"The bucket exists: {bucket}") from None

    def delete_bucket(self, bucket: str) -> None:
        """Remove an empty bucket."""
        try:
            os.rmdir(self._bucket(bucket))
        except OSError:
            raise StorageProblem(409, f"The bucket is not empty: {bucket}") from None

    def find(self, bucket: str, name: str) -> StoredObject:
        """Return the object.

        Raises:
            StorageProblem: there is none, or the name is not valid, or leads through a link.
        """
        path = self.path_of(bucket, name)
        self._refuse_links(path)
        for candidate in (path, beside(path)):
            try:
                status = os.lstat(candidate)
            except OSError:
                continue
            if os.path.islink(candidate):
                raise StorageProblem(403, f"{candidate} is a link, which tpulint does not follow")
            if os.path.isfile(candidate) and self._differing_in_case(candidate) is None:
                return StoredObject(bucket, name, candidate, status.st_size, status.st_mtime_ns)
        raise NoSuchObjectError(f"No such object: {bucket}/{name}")

    def path_of(self, bucket: str, name: str) -> str:
        """Return the path of the object, which may be taken by a folder."""
        return os.path.join(self._bucket(bucket), *parts_on_disk(name))

    def list(self, bucket: str, prefix: str = "", delimiter: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose names begin with `prefix`, in no order.

        With the delimiter "/", what is in a folder below is one item, whose name ends with it.
        """
        root = self._bucket(bucket)
        if not os.path.isdir(root):
            raise NoSuchObjectError(f"The specified bucket does not exist: {bucket}")
        head, slash, _ = prefix.rpartition("/")
        folder = os.path.join(root, *parts_on_disk(head)) if slash else root
        if os.path.realpath(folder) != folder:
            return
        for item in self._walk(bucket, folder, head + slash, deep=delimiter != "/"):
            if item.name.startswith(prefix):
                yield item

    def _walk(
        self, bucket: str, folder: str, start: str, *, deep: bool, text: str = ""
    ) -> Iterator[StoredObject]:
        """Yield the objects in a folder; `text` is the beginning of a part that goes on in it."""
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            if entry.is_symlink():
                continue
            path = entry.path
            is_folder = entry.is_dir()
            if is_folder and entry.name.startswith(CONTINUED):
                longer = text + entry.name.removeprefix(CONTINUED)
                yield from self._walk(bucket, path, start, deep=deep, text=longer)
                continue
            part = part_of(entry.name, text, is_folder=is_folder)
            if part is None:
                continue
            name = start + part
            if not is_folder:
                status = entry.stat()
                yield StoredObject(bucket, name, path, status.st_size, status.st_mtime_ns)
                continue
            inside = self._walk(bucket, path, f"{name}/", deep=True)
            if deep:
                yield from inside
            elif next(inside, None) is not None:
                yield StoredObject(bucket, f"{name}/", "", 0, 0, is_folder=True)

    def new_file(self) -> BinaryIO:
        """Open a new file for what will be an object; the caller closes it."""
        with self._lock:
            folder = self._uploads or self._make_uploads()
        return _WholeFile(os.path.join(folder, secrets.token_hex(8)), "x+")

    @contextlib.contextmanager
    def new_object(self) -> Iterator[BinaryIO]:
        """Open a new file; it is gone at the end unless it has become an object."""
        with self.new_file() as file:
            try:
                yield file
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(file.name)

    def commit(self, path: str, bucket: str, name: str, *, is_new: bool = False) -> StoredObject:
        """Let the file `path` be the object.

        Raises:
            StorageProblem: 412 if it has to be new and is not.
        """
        plain = self.path_of(bucket, name)
        self._refuse_links(plain)
        self._refuse_other_case(bucket, name)
        now = time.time_ns()
        os.utime(path, ns=(now, now))
        size = os.path.getsize(path)
        with self._lock:
            if is_new and self.has(bucket, name):
                raise StorageProblem(412, f"The object exists: {bucket}/{name}")
            for _ in range(_ATTEMPTS):
                # Another run may use the same directory: what it does between two of these calls
                # is seen at the next attempt.
                with contextlib.suppress(
                    FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError
                ):
                    self._make_folders(bucket, plain)
                    target = beside(plain) if os.path.isdir(plain) else plain
                    os.replace(path, target)
                    if target == plain:
                        _remove_if_there(beside(plain))
                    # It was there, whatever another run does to it from here on.
                    return StoredObject(bucket, name, target, size, now)
        raise StorageProblem(503, f"{plain}: other programs change its folders all the time")

    def has(self, bucket: str, name: str) -> bool:
        try:
            self.find(bucket, name)
        except NoSuchObjectError:
            return False
        return True

    def delete(self, bucket: str, name: str) -> None:
        """Remove the object, and the folders that it was the last in."""
        with self._lock:
            stored = self.find(bucket, name)
            path = self.path_of(bucket, name)
            for candidate in (stored.path, beside(path)):
                _remove_if_there(candidate)
            with contextlib.suppress(OSError):  # the first that holds more
                while (path := os.path.dirname(path)) != self._bucket(bucket):
                    os.rmdir(path)

    def join(self, sources: Sequence[StoredObject], bucket: str, name: str) -> StoredObject:
        """Let an object be what `sources` are, one after the other: a copy, if it is one."""
        with self.new_object() as file:
            for source in sources:
                with open(source.path, "rb") as part:
                    shutil.copyfileobj(part, file, _BLOCK_BYTES)
            return self.commit(file.name, bucket, name)

    def close(self) -> None:
        """Remove what has not become an object."""
        if self._uploads is not None:
            shutil.rmtree(self._uploads, ignore_errors=True)
        if self._upload_lock is not None:
            self._upload_lock.close()

    def _bucket(self, bucket: str) -> str:
        if not BUCKET.fullmatch(bucket):
            raise StorageProblem(400, f"Invalid bucket name: '{bucket}'")
        return os.path.join(self.folder, bucket)

    def _refuse_links(self, path: str) -> None:
        folder = os.path.dirname(path)
        if os.path.realpath(folder) != folder:
            raise StorageProblem(403, f"{folder} leads through a link: tpulint does not follow it")

    def _refuse_other_case(self, bucket: str, name: str) -> None:
        """Refuse a name whose file is that of another object: nothing may be lost."""
        plain = self.path_of(bucket, name)
        other = self._differing_in_case(plain) or self._differing_in_case(beside(plain))
        if other is not None:
            raise StorageProblem(
                413,  # FAILED_PRECONDITION to TensorFlow, which gives up at once
                f"gs://{bucket}/{name} and {other} differ in upper and lower case only, which this "
                "disk ignores: rename one, or use --storage with a directory on another disk",
            )

    def _differing_in_case(self, path: str) -> str | None:
        """Return the file or folder that the disk takes for `path` or a folder above it."""
        if not self._disk_ignores_case():
            return None
        folder = self.folder
        with contextlib.suppress(OSError):
            for part in os.path.relpath(path, folder).split(os.sep):
                entries = os.listdir(folder)
                if part not in entries:
                    alike = (entry for entry in entries if entry.casefold() == part.casefold())
                    return next((os.path.join(folder, entry) for entry in alike), None)
                folder = os.path.join(folder, part)
        return None

    def _disk_ignores_case(self) -> bool:
        """Return whether the disk has one file for `a` and `A`, which the first entry shows."""
        if self._ignores_case is None:
            entries: set[str] = set()
            with contextlib.suppress(OSError):  # nothing was written yet
                entries.update(os.listdir(self.folder))
            others = (entry.swapcase() for entry in sorted(entries) if entry.swapcase() != entry)
            if other := next(others, ""):
                path = os.path.join(self.folder, other)
                self._ignores_case = other not in entries and os.path.lexists(path)
        return bool(self._ignores_case)

    def _make_folders(self, bucket: str, path: str) -> None:
        """Make the folders above `path`; an object that has the name of one moves beside it."""
        os.makedirs(self._bucket(bucket), exist_ok=True)
        folder = self._bucket(bucket)
        for part in os.path.relpath(os.path.dirname(path), folder).split(os.sep):
            folder = os.path.normpath(os.path.join(folder, part))
            if os.path.isfile(folder):
                os.rename(folder, beside(folder))
            if not os.path.isdir(folder):
                os.mkdir(folder)

    def _make_uploads(self) -> str:
        """Make the folder for what is being written, which a lock keeps for this process."""
        os.makedirs(os.path.join(self.folder, UPLOADS), exist_ok=True)
        if self.is_default:
            self._mark()
        self._remove_abandoned()
        folder = tempfile.mkdtemp(dir=os.path.join(self.folder, UPLOADS))
        self._upload_lock = open(os.path.join(folder, "lock"), "wb")  # noqa: SIM115
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(self._upload_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._uploads = folder
        return folder

    def _remove_abandoned(self) -> None:
        """Remove what servers that were killed have left: nobody holds their locks."""
        for entry in list(os.scandir(os.path.join(self.folder, UPLOADS))):
            with contextlib.suppress(OSError):
                if time.time() - entry.stat().st_mtime < _ABANDONED_SECONDS:
                    continue
                with open(os.path.join(entry.path, "lock"), "rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry.path, ignore_errors=True)

    def _mark(self) -> None:
        path = os.path.join(self.folder, ".gitignore")
        if not os.path.lexists(path):
            with contextlib.suppress(OSError), open(path, "x", encoding="utf-8") as file:
                file.write(IGNORED)


def parts_on_disk(name: str) -> list[str]:
    """Return the names of the folders and of the file of an object.

    Raises:
        StorageProblem: Google Cloud Storage has no such names.
    """
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        raise StorageProblem(400, "The name of an object is UTF-8") from None
    if size > LONGEST_NAME_BYTES or "\n" in name or "\r" in name:
        raise StorageProblem(400, f"The name of an object is one line of up to 1024 bytes: {name}")
    return [text for part in name.split("/") for text in _escaped(part)]


def _escaped(part: str) -> list[str]:
    is_special = part in ("", ".", "..") or part.startswith((QUOTED, CONTINUED, BESIDE))
    if not is_special and "\0" not in part and len(part.encode("utf-8")) <= LONGEST_PART_BYTES:
        return [part]
    text = quote(part, safe="")
    step = LONGEST_PART_BYTES - len(QUOTED)
    pieces = [text[start : start + step] for start in range(0, len(text), step)] or [""]
    return [*(CONTINUED + piece for piece in pieces[:-1]), QUOTED + pieces[-1]]


def part_of(name: str, before: str = "", *, is_folder: bool = False) -> str | None:
    """Return the part of an object's name that a file or folder stands for.

    `before` is the text of the folders that the part began in. None: it stands for none, as a file
    whose name would be written in another way.
    """
    plain = name.removeprefix(BESIDE) if not is_folder else name
    is_quoted = plain.startswith(QUOTED)
    part = unquote(before + plain.removeprefix(QUOTED)) if is_quoted else plain
    try:
        is_same = _escaped(part)[-1] == plain
    except UnicodeEncodeError:
        return None
    return part if is_same and (is_quoted or not before) else None


def beside(path: str) -> str:
    """Return the path of an object whose own path is that of a folder."""
    folder, name = os.path.split(path)
    return os.path.join(folder, BESIDE + name)


def is_full(error: OSError) -> bool:
    """Return whether a disk is full, or what the user may put on it."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def first_sorted(items: Iterator[StoredObject], most: int, after: str) -> list[StoredObject]:
    """Return at most `most` items by name, that come after the name `after`.

    One or two need no order: TensorFlow asks so whether there are any.
    """
    rest = (item for item in items if item.name > after)
    if most <= 2:
        return list(itertools.islice(rest, most))
    return sorted(rest, key=attrgetter("name"))[:most]


def _remove_if_there(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
