"""Directories of the cache: tpulint writes to and deletes from only those that it has made.

Each bears a tag that names tpulint, and is left alone by git and by backups. What is removed from
one are files with the names of entries, and no link in it is followed: a repository may hold a
directory with our tag.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
from collections.abc import Iterator

from tpulint.disk import OWN_FILE_LIMIT_BYTES, read_regular

TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir/
SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55\n# The cache of tpulint.\n"
IGNORES = ".gitignore"
TEMPORARY = ".tpulint-"
ENTRY = re.compile(rf"[0-9a-f]{{64}}\.json|(?:{re.escape(TEMPORARY)}|tmp)\w{{8}}")
FOLDER = re.compile(r"runs|programs|divisions|(?:recent-)?signs|[0-9a-f]{2}")
DIGEST = 64  # characters
# Raised where an entry is read that is none: it is dropped, whatever it holds.
UNSOUND = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def is_ours(directory: str) -> bool:
    """Return whether the directory bears our tag."""
    try:
        return read_regular(os.path.join(directory, TAG), len(SIGNATURE)) == SIGNATURE
    except OSError:
        return False


def is_foreign(directory: str) -> bool:
    """Return whether there is a directory that holds something and is not ours."""
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    # A temporary file may be the tag that another process is about to put there.
    return any(not name.startswith(TEMPORARY) for name in names) and not is_ours(directory)


def claim(directory: str) -> None:
    """Make the directory, with our tag. Raises OSError where it cannot be, or is foreign."""
    if is_ours(directory):
        return
    os.makedirs(directory, exist_ok=True)
    if is_foreign(directory):
        raise FileExistsError(errno.EEXIST, "the directory is not tpulint's", directory)
    _replace(directory, TAG, SIGNATURE)
    _replace(directory, IGNORES, b"*\n")


def read_entry(directory: str, folder: str, name: str) -> bytes:
    """Return an entry of a cache. Raises OSError or ValueError where there is none, or no sound."""
    path = os.path.join(directory, folder, f"{name}.json")
    return unsealed(name, read_regular(path, OWN_FILE_LIMIT_BYTES))


def write_entry(directory: str, folder: str, name: str, content: bytes) -> None:
    """Write an entry of a cache as a whole file: other checks may be reading."""
    claim(directory)
    inside = os.path.join(directory, folder)
    with contextlib.suppress(FileExistsError):
        os.mkdir(inside)
    if os.path.islink(inside):
        raise NotADirectoryError(errno.ENOTDIR, "it is a link", inside)
    _replace(inside, f"{name}.json", sealed(name, content))


def sealed(name: str, content: bytes) -> bytes:
    """Return the bytes of an entry, which say whose content they are and whether it is whole."""
    return _digest(name, content) + content


def unsealed(name: str, entry: bytes) -> bytes:
    """Return the content of an entry. Raises ValueError for one that is damaged or another's."""
    content = entry[DIGEST:]
    if entry[:DIGEST] != _digest(name, content):
        raise ValueError("no entry of this name, or a damaged one")
    return content


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(f"{name}\0".encode() + content).hexdigest().encode()


def prune(directory: str, folder: str, most_bytes: int, most: int | None = None) -> None:
    """Drop the oldest entries of a folder beyond so many bytes, or so many entries."""
    seen = []
    for each in _entries(os.path.join(directory, folder)):
        with contextlib.suppress(FileNotFoundError):  # another process prunes as well
            state = each.stat(follow_symlinks=False)
            seen.append((state.st_mtime_ns, state.st_size, each.path))
    total, number = sum(size for _, size, _ in seen), len(seen)
    for _, size, path in sorted(seen):
        if total <= most_bytes and (most is None or number <= most):
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        total -= size
        number -= 1


def clear(directory: str) -> bool:
    """Remove a cache; return whether nothing is left there, as it held nothing but the cache."""
    with os.scandir(directory) as scan:
        folders = [each.path for each in scan if FOLDER.fullmatch(each.name)]
    for folder in folders:
        for entry in _entries(folder):
            os.unlink(entry.path)
        with contextlib.suppress(OSError):  # it holds something else, or is a link
            os.rmdir(folder)
    if set(os.listdir(directory)) - {TAG, IGNORES}:
        return False
    for name in (IGNORES, TAG):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(directory, name))
    os.rmdir(directory)
    return True


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield the files of ours in a folder of a cache; none where that is a link."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        return
    with os.scandir(folder) as scan:
        for each in list(scan):
            if ENTRY.fullmatch(each.name) and each.is_file(follow_symlinks=False):
                yield each


def _replace(folder: str, name: str, data: bytes) -> None:
    """Put a whole file in its place, which may be a link: that is replaced, too."""
    temporary = os.path.join(folder, f"{TEMPORARY}{os.urandom(4).hex()}")
    try:
        with open(temporary, "xb") as stream:
            stream.write(data)
        os.replace(temporary, os.path.join(folder, name))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
