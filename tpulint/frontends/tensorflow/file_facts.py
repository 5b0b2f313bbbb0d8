"""Facts of single files, from their bytes and their paths: no program is read for them.

Soft device placement: what has no kernel runs on the host there. TensorFlow has it off while a
tf.function or a graph is built (eagerly it is on), so that only a program that says so gets it:
`tpu.replicate` reads it when the computation is built. It is the process that has it, so what
counts is which entry points reach the computation, and what these import.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from tpulint.disk import Disk

SIGN = b"set_soft_device_placement("
_SET = re.compile(
    rb"(?m)^([^#\n]*)set_soft_device_placement\(\s*(?:enabled\s*=\s*)?([^)]*?)[\s,]*\)"
)
_SCRIPT = (b"__main__", b"app.run(")
ON, PERHAPS = "on", "perhaps"


def placement_in(data: bytes) -> str | None:
    """Return what these bytes ask for: ON, PERHAPS where it may not be run, None for nothing."""
    placement = None
    for before, value in _SET.findall(data):
        if value == b"False":
            continue
        runs = not before[:1].isspace() or is_script(data)
        if value == b"True" and runs:
            return ON
        placement = PERHAPS
    return placement


def is_script(data: bytes) -> bool:
    """Return whether a file with these bytes is run as a program."""
    return any(sign in data for sign in _SCRIPT)


# Estimators, by the package that they are of

NAMED = b"TPUEstimator"


def names_estimators(data: bytes) -> bool:
    """Return whether these bytes name a TPUEstimator or a specification for one."""
    return NAMED in data


def by_home(paths: Iterable[str], disk: Disk) -> list[list[str]]:
    """Return the files that name estimators, those of each home together.

    Nothing need import one for the other: model_fns are found in registries, and by flags.
    """
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
