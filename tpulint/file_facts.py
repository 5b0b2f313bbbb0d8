"""Facts of single files, from their bytes and their paths: no program is read for them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tpulint.disk import Disk

_SCRIPT = (b"__main__", b"app.run(")
# Whether a program turns something on: in each run, or in some.
ON, PERHAPS = "on", "perhaps"


def is_script(data: bytes) -> bool:
    """Return whether a file with these bytes is run as a program."""
    return any(sign in data for sign in _SCRIPT)


def by_home(paths: Iterable[str], disk: Disk) -> list[list[str]]:
    """Return the files, those of each home together."""
    homes: dict[str, list[str]] = {}
    for path in paths:
        homes.setdefault(home_of(path, disk), []).append(path)
    return list(homes.values())


def home_of(path: str, disk: Disk) -> str:
    """Return the folder of a module's outermost package, or its own."""
    folder = os.path.dirname(path)
    while disk.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder


TEST_FOLDERS = ("test", "tests", "testing")


def is_test(path: str) -> bool:
    """Return whether a file holds tests, by its name or its folder's."""
    name = os.path.basename(path)
    folder = os.path.basename(os.path.dirname(path))
    return name.startswith("test_") or name.endswith("_test.py") or folder in TEST_FOLDERS
