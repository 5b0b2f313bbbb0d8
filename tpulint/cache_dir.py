"""The directory of the cache: known by its tag, left alone by git and by backups."""

from __future__ import annotations

import contextlib
import os

TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir/
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55\n# The cache of tpulint.\n"


def tag(directory: str) -> None:
    """Marks the directory as a cache, if it is there and can be written."""
    if os.path.isdir(directory) and not os.path.exists(os.path.join(directory, TAG)):
        with contextlib.suppress(OSError):
            for name, text in ((".gitignore", "*\n"), (TAG, SIGNATURE)):
                with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                    file.write(text)


def is_ours(directory: str) -> bool:
    """Return whether the directory bears our tag, so that it may be removed."""
    try:
        with open(os.path.join(directory, TAG), encoding="utf-8") as file:
            return file.read() == SIGNATURE
    except (OSError, ValueError):
        return False
