"""The directory of a run's cache: one that tpulint may write to, or none.

A configuration file of the project may name a place in the project only, links included: who
checks a repository does not let it choose what is written elsewhere.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tpulint.cache_dir import is_foreign
from tpulint.config import Config, ConfigError
from tpulint.pipeline.project_root import project_of, repository_of

KEY = "cache-dir"
OPTIONS = "--cache-dir or TPULINT_CACHE_DIR"


class CachePlace(NamedTuple):
    """The directory of the cache, and a warning where there is none that may be used."""

    directory: str | None
    warnings: tuple[str, ...] = ()


NO_CACHE = CachePlace(None)


def cache_place(config: Config, start: str) -> CachePlace:
    """Return the cache of a run that begins in the folder `start`.

    Raises ConfigError for a place that may not be used, if it was asked for.
    """
    file = config.file if config.origin(KEY) == config.file else None
    within = None if file is None or _is_users_own(file, start) else _top(os.path.dirname(file))
    if within is not None and config.shared_cache is not None:
        raise ConfigError(f"{file}: {KEY}: a URL is accepted from {OPTIONS} only")
    directory = os.path.normpath(config.cache_path)
    is_default = config.cache_dir is None or config.shared_cache is not None
    if is_default:
        within = _top(config.root)
    fault = _fault(directory, within)
    if fault is None:
        return CachePlace(directory)
    if is_default:
        return CachePlace(None, (f"no cache is used: {fault}",))
    raise ConfigError(f"{config.origin(KEY)}: {fault}")


def _fault(directory: str, within: str | None) -> str | None:
    """Return why a directory may not be used; it is, if given, to be `within` another."""
    if within is not None and not is_inside(directory, within):
        return f"{directory} is outside of {within}, and accepted from {OPTIONS} only"
    if is_foreign(directory):
        return f"{directory} is not empty, and tpulint has not created it"
    return None


def _is_users_own(file: str, start: str) -> bool:
    """Return whether a configuration file is of no project that the run can be about.

    That is so if it was named by --config: it is neither at or above the folder in which the run
    begins, nor in the project there.
    """
    folder = os.path.dirname(os.path.abspath(file))
    return not is_inside(start, folder) and not is_inside(folder, project_of(start) or start)


def _top(folder: str) -> str:
    return repository_of(folder) or os.path.abspath(folder)


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path leads to a place in a folder or to the folder itself."""
    full, top = os.path.realpath(path), os.path.realpath(folder)
    return full == top or full.startswith(os.path.join(top, ""))
