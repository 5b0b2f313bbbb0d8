"""The folder of the project that a file is of."""

from __future__ import annotations

import os
from collections.abc import Iterator

REPOSITORIES = (".git", ".hg")
BUILDS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "README.md", "README.rst")
PACKAGE = "__init__.py"
CLIMB = 12  # folders above a path that are looked into


def project_of(path: str) -> str | None:
    """Return the top of the repository around `path`.

    Without one it is the highest folder above that says how to build or use what is in it
    (a part of a project may say so too), and without that the outermost package.
    """
    repository = repository_of(path)
    if repository is not None:
        return repository
    above = list(_upwards(path))
    built = [folder for folder in above if _holds(folder, BUILDS)]
    if built:
        return built[-1]
    package = None
    for folder in above:
        if not _holds(folder, (PACKAGE,)):
            break
        package = folder
    return package


def repository_of(path: str) -> str | None:
    """Return the top of the repository around `path`."""
    return next((folder for folder in _upwards(path) if _holds(folder, REPOSITORIES)), None)


def _upwards(path: str) -> Iterator[str]:
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    for _ in range(CLIMB):
        above = os.path.dirname(folder)
        if above == folder:
            return  # the root of a disk is no project
        yield folder
        folder = above


def _holds(folder: str, names: tuple[str, ...]) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in names)
