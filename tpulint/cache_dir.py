"""Directories of the cache: tpulint writes to and deletes from only those that it has made.

Each bears a tag that names tpulint, and is left alone by git and by backups. What is removed from
one are files with the names of the database, and no link in it is followed: a repository may hold a
directory with our tag.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os

from tpulint.disk import read_regular

TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir/
SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55\n# The cache of tpulint.\n"
IGNORES = ".gitignore"
TEMPORARY = ".tpulint-"
DATABASE = "results.sqlite"
JOURNAL = f"{DATABASE}-journal"
DIGEST_CHARACTERS = 64


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


def sealed(name: str, content: bytes) -> bytes:
    """Return the bytes of an entry, which say whose content they are and whether it is whole."""
    return _digest(name, content) + content


def unsealed(name: str, entry: bytes) -> bytes | None:
    """Return the content of an entry; None for one that is damaged or another's."""
    content = entry[DIGEST_CHARACTERS:]
    return content if entry[:DIGEST_CHARACTERS] == _digest(name, content) else None


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(f"{name}\0".encode() + content).hexdigest().encode()


def clear(directory: str) -> bool:
    """Remove a cache; return whether nothing is left there, as it held nothing but the cache."""
    for name in (DATABASE, JOURNAL):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError, PermissionError):
            os.unlink(os.path.join(directory, name))
    if set(os.listdir(directory)) - {TAG, IGNORES}:
        return False
    for name in (IGNORES, TAG):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(directory, name))
    os.rmdir(directory)
    return True


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
