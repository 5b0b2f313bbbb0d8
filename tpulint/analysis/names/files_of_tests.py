"""The files that hold tests, by their names."""

from __future__ import annotations

import os

TEST_FOLDERS = ("test", "tests", "testing")


def is_test(path: str) -> bool:
    """Return whether a file holds tests, by its name or its folder's."""
    name = os.path.basename(path)
    folder = os.path.basename(os.path.dirname(path))
    return name.startswith("test_") or name.endswith("_test.py") or folder in TEST_FOLDERS
