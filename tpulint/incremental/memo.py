"""The table of results: a database in the directory of the cache, or a dictionary.

Several processes may use one database at the same time: an editor, a commit hook, CI. Each reads
and writes in short transactions, and waits for the others. A run whose database cannot be used
works without it and says so once.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import tpulint
from tpulint import plugins
from tpulint.cache_dir import DATABASE, claim, is_ours
from tpulint.disk import MEBIBYTE, hash_of_files
from tpulint.incremental.disk import FileState

if TYPE_CHECKING:
    import sqlite3

    from fsspec import AbstractFileSystem


LIMIT_BYTES = 64 * MEBIBYTE  # of all results; the oldest go first
TIMEOUT_SECONDS = 5.0  # until another process is done with the database
# The layout of the tables: a database of another one is not read.
LAYOUT = 1
SCHEMA = """
create table if not exists files(path text primary key, stamp text, digest text) without rowid;
create table if not exists results(
    query text, head text, key text, written integer, size integer, seal integer, value text,
    primary key(query, head, key));
"""


class Result(NamedTuple):
    """A result of a query as text, by its name in the database."""

    query: str
    head: str
    key: str
    value: str


class Memo:
    """Results by query, head and key. The head holds what all results of a check depend on.

    This one is a dictionary, of the results of one process.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], dict[str, str]] = {}
        self.messages: list[str] = []

    def analyzer_identity(self) -> str:
        """Return which analyzer the results are of: here that of this process, with its plug-ins.

        To hash its files takes a tenth of the time of a check of few files.
        """
        return plugins.active().key

    def states(self) -> Mapping[str, FileState]:
        """Return the states of the files of earlier checks."""
        return {}

    def all(self, query: str, head: str) -> dict[str, str]:
        """Return all results of a query, by key."""
        return dict(self._values.get((query, head), {}))

    def some(self, query: str, head: str, keys: Iterable[str]) -> dict[str, str]:
        """Return the results of a query that are there for these keys."""
        stored = self._values.get((query, head), {})
        return {key: stored[key] for key in keys if key in stored}

    def write(self, results: Iterable[Result], states: Mapping[str, FileState]) -> None:
        """Keep results, and the states of files."""
        for query, head, key, value in results:
            self._values.setdefault((query, head), {})[key] = value

    def close(self) -> None:
        """Let go of what is open."""


class Database(Memo):
    """Results in the directory of a cache.

    messages: why it is not used, where it cannot be.
    """

    def __init__(self, directory: str) -> None:
        super().__init__()
        self._directory = directory
        self._path = os.path.join(directory, DATABASE)
        self._connection: sqlite3.Connection | None = None
        self._may_rebuild = True

    def analyzer_identity(self) -> str:
        return package_hash()

    def states(self) -> Mapping[str, FileState]:
        rows = self._select("select path, stamp, digest from files", ())
        return {path: FileState(seen, digest) for path, seen, digest in rows}

    def all(self, query: str, head: str) -> dict[str, str]:
        statement = "select key, value, seal from results where query = ? and head = ?"
        rows = self._select(statement, (query, head))
        return {key: value for key, value, seal in rows if seal == seal_of(key, value)}

    def some(self, query: str, head: str, keys: Iterable[str]) -> dict[str, str]:
        statement = "select value, seal from results where query = ? and head = ? and key = ?"
        return {
            key: value
            for key in keys
            for value, seal in self._select(statement, (query, head, key))
            if seal == seal_of(key, value)
        }

    def write(self, results: Iterable[Result], states: Mapping[str, FileState]) -> None:
        now = time.time_ns()
        rows = [
            (query, head, key, now, len(value), seal_of(key, value), value)
            for query, head, key, value in results
            if is_storable(key)
        ]
        states = {path: state for path, state in states.items() if is_storable(path)}
        if not (rows or states) or self.messages:
            return
        with self._reported():
            claim(self._directory)
            self._write(rows, states)

    def _write(self, rows: Sequence[tuple[object, ...]], states: Mapping[str, FileState]) -> None:
        connection = self._opened()
        if connection is None:  # there is none, or another file of this name
            remove(self._path)
            connection = self._connection = connect(self._path)
            creation = f"begin immediate; {SCHEMA} pragma user_version = {LAYOUT}; commit;"
            connection.executescript(creation)
        with connection:  # one transaction
            connection.execute("begin immediate")
            connection.executemany("replace into results values(?, ?, ?, ?, ?, ?, ?)", rows)
            files = [(path, *state) for path, state in states.items()]
            connection.executemany("replace into files values(?, ?, ?)", files)
            prune(connection)

    def _select(self, statement: str, arguments: tuple[str, ...]) -> list[tuple[Any, ...]]:
        if self.messages:
            return []
        with self._reported():
            connection = self._opened()
            return [] if connection is None else connection.execute(statement, arguments).fetchall()
        return []

    def _opened(self) -> sqlite3.Connection | None:
        """Return the database; None where there is none, or one that is damaged or outdated."""
        import sqlite3

        if self._connection is None and is_regular(self._path):
            connection = connect(self._path)
            try:
                (layout,) = connection.execute("pragma user_version").fetchone()
                is_known = layout == LAYOUT
            except sqlite3.OperationalError:
                connection.close()
                raise
            except sqlite3.DatabaseError:
                is_known = False
            if is_known:
                self._connection = connection
            else:
                connection.close()
        return self._connection

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Drop a damaged database, and leave alone one that cannot be used."""
        import sqlite3

        try:
            yield
        except (OSError, sqlite3.Error, OverflowError, UnicodeError) as error:
            self.close()
            if self._may_rebuild and is_damage(error) and is_ours(self._directory):
                self._may_rebuild = False
                with contextlib.suppress(OSError):
                    remove(self._path)
            else:
                words = getattr(error, "strerror", None) or " ".join(str(error).split())
                self.messages.append(f"{self._directory} is not used as a cache: {words}")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def connect(path: str) -> sqlite3.Connection:
    """Open a database, or make one.

    It has a rollback journal: a write-ahead log needs memory that processes share, which a disk on
    the network does not have. Nothing is forced to the disk: results that a power failure costs are
    found again, and those that it damages do not fit their seals.
    """
    import sqlite3

    journal = f"{path}-journal"
    # A repository may hold a journal that is a link to a file of its user. It is looked at once:
    # another process may end its transaction, and with it the journal, at any moment.
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.lstat(journal).st_mode):
            os.unlink(journal)
    connection = sqlite3.connect(path, timeout=TIMEOUT_SECONDS, isolation_level=None)
    connection.execute("pragma synchronous = off")
    connection.execute("pragma trusted_schema = off")
    return connection


def is_damage(error: Exception) -> bool:
    """Return whether an error says that a file is no database, or not one of tpulint's."""
    import sqlite3

    if isinstance(error, OSError):
        return False
    if not isinstance(error, sqlite3.OperationalError):
        return True
    return str(error).startswith(("no such", "Could not decode"))


def is_storable(text: str) -> bool:
    """Return whether a database takes a text: names of files may hold what is no UTF-8."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def prune(connection: sqlite3.Connection) -> None:
    """Drop the oldest results beyond the limit."""
    (size,) = connection.execute("select total(size) from results").fetchone()
    if size <= LIMIT_BYTES:
        return
    rows = connection.execute("select rowid, size from results order by written").fetchall()
    dropped = []
    for row, length in rows:
        if size <= LIMIT_BYTES:
            break
        dropped.append((row,))
        size -= length
    connection.executemany("delete from results where rowid = ?", dropped)


def seal_of(key: str, value: str) -> int:
    """Return the seal of a result, which says whose it is and that it is whole."""
    return zlib.crc32(f"{key}\0{value}".encode("utf-8", "surrogatepass"))


def is_regular(path: str) -> bool:
    """Return whether there is a file, which is no link."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def remove(path: str) -> None:
    """Remove a database with its journal. Raises OSError where that cannot be."""
    for name in (path, f"{path}-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


# The findings of programs where several machines can read them: any file system of fsspec.
#
# Each entry is a file of its own under the hash of what it depends on, and says itself whether it
# is whole (see `cache_dir`). So machines may write at the same time, also where that takes a while
# or breaks off. Nothing is removed; that is left to the storage's own rules.


class SharedCache:
    """The entries below a URL. After the first failure, of the network say, it is left alone.

    faults: that failure, in words.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.faults: list[str] = []

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the entries that are there, all asked for at once."""
        requested = list(names)
        if self.faults or not requested:
            return {}
        try:
            system, folder = self._place
            contents = system.cat([f"{folder}/{name}" for name in requested], on_error="return")
        except Exception as error:  # each file system has errors of its own
            self._give_up(error)
            return {}
        entries: dict[str, bytes] = {}
        for path, content in contents.items():
            if isinstance(content, bytes):
                entries[path.rpartition("/")[2]] = content
            elif not isinstance(content, FileNotFoundError):
                self._give_up(content)
        return entries

    def write(self, name: str, data: bytes) -> None:
        """Write an entry, if the storage can be used."""
        if self.faults:
            return
        try:
            system, folder = self._place
            system.makedirs(folder, exist_ok=True)
            system.pipe_file(f"{folder}/{name}", data)
        except Exception as error:  # each file system has errors of its own
            self._give_up(error)

    @functools.cached_property
    def _place(self) -> tuple[AbstractFileSystem, str]:
        from fsspec.core import url_to_fs

        system, folder = url_to_fs(self._url)
        return system, folder.rstrip("/")

    def _give_up(self, error: object) -> None:
        reason = " ".join(str(error).split()) or type(error).__name__
        self.faults = self.faults or [f"{self._url} is not used as a cache: {reason[:300]}"]


# The identity of the analyzer that runs: what another one has found is not recalled.

SUFFIXES = (".py", ".toml", ".tsv")
APART = ("runtime", "__pycache__")  # folders that no finding depends on


def package_hash() -> str:
    """Return the hash of all code that findings can depend on: the package's, and plug-ins'."""
    key = plugins.active().key
    return hashlib.sha256(f"{own_hash()}\n{key}".encode()).hexdigest() if key else own_hash()


@functools.cache
def own_hash() -> str:
    """Return the hash of all files of the package that findings can depend on."""
    return hash_of_files(os.path.dirname(tpulint.__file__), SUFFIXES, APART)
