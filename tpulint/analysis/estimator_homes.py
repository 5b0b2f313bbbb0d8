"""The files that name estimators, by the package that they are of."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tpulint.disk import Disk

NAMED = b"TPUEstimator"


def names_estimators(data: bytes) -> bool:
    """Return whether these bytes name a TPUEstimator or a specification for one."""
    return NAMED in data


def by_home(paths: Iterable[str], disk: Disk) -> list[list[str]]:
    """Return the files that name estimators, those of each home together.

    Nothing need import one for the other: model_fns are found in registries, and by flags.
    """
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(home_of(path, disk), []).append(path)
    return list(found.values())


def home_of(path: str, disk: Disk) -> str:
    """Return the folder of a module's outermost package, or its own."""
    folder = os.path.dirname(path)
    while disk.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder
