"""The request of a run, its part for each file, its project and the place of its cache."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tpulint import plugins
from tpulint.cache_dir import is_foreign
from tpulint.config import Config, ConfigError
from tpulint.config.files import Closest
from tpulint.diagnostics.resolve import RuleSelection, selected
from tpulint.disk import is_inside
from tpulint.frontends.settings import Settings, settings_from

STDIN = "-"


class Request(NamedTuple):
    """The request of a run, the command line and the configuration taken together.

    `config` and `codes` are those of the run: of every file, unless `closest` finds each its own
    configuration; `layer` is then what the command line selects over it. `noqa` is false where
    another tool (flake8) applies those comments, `suppressions` where none of any kind counts.
    `changed_since` is a git revision: only what the changes since then can affect is reported.
    `staged`: only what the staged changes can affect is, and files are read as they are staged.
    `shard` is (K, N): only what is found in the K-th of N parts is reported. `scheduler` is the
    address of the Dask cluster that reads the programs. `fixes` is false where no edit is shown or
    made: files are then not read for them. warnings: lines about the request itself.
    """

    config: Config
    codes: frozenset[str]
    paths: tuple[str, ...] = (".",)
    stdin: bytes | None = None
    stdin_filename: str = STDIN
    force_exclude: bool = False
    cache: str | None = None
    noqa: bool = True
    suppressions: bool = True
    closest: Closest | None = None
    layer: RuleSelection = RuleSelection()
    changed_since: str | None = None
    staged: bool = False
    shard: tuple[int, int] | None = None
    scheduler: str | None = None
    timed: bool = False
    fixes: bool = True
    warnings: tuple[str, ...] = ()

    def config_of(self, filename: str) -> Config:
        if self.closest is None or filename == STDIN:
            return self.config
        return self.closest.of_file(filename)

    def codes_of(self, filename: str) -> frozenset[str]:
        if self.closest is None or filename == STDIN:
            return self.codes
        return codes_by(self.closest.of_file(filename), self.layer)

    def config_resolver(self) -> Closest:
        """Return the way to each directory's configuration; one for all where there is no other."""
        return self.closest or Closest(self.config.root, self.config)

    def every_code(self, filenames: Iterable[str]) -> frozenset[str]:
        if self.closest is None:
            return self.codes
        some = one_per_directory(tuple(filenames))
        return frozenset().union(*(self.codes_of(name) for name in some))

    def every_setting(self, filenames: Iterable[str]) -> list[Settings]:
        """Return the analysis settings of the files, each once."""
        some = one_per_directory(tuple(filenames)) if self.closest is not None else (STDIN,)
        return list(dict.fromkeys(settings_of(self.config_of(name)) for name in some))


def codes_by(config: Config, layer: RuleSelection) -> frozenset[str]:
    """Return the codes that a configuration and the command line ask for."""
    own = RuleSelection(config.select, config.extend_select, config.ignore, config.performance)
    return _selected(plugins.active(), own, layer)


@functools.cache
def _selected(_: plugins.PluginSet, *layers: RuleSelection) -> frozenset[str]:
    return selected(layers)


def settings_of(config: Config) -> Settings:
    """Return the part of a configuration that the analysis needs."""
    return settings_from(config, plugins.active().boundary_names)


@functools.lru_cache(maxsize=2)
def one_per_directory(filenames: tuple[str, ...]) -> tuple[str, ...]:
    """Return one file of each directory: the others have the same configuration."""
    return tuple({os.path.dirname(name): name for name in filenames}.values())


def start_of(paths: Sequence[str], stdin_filename: str | None) -> str:
    """Return the directory whose configuration counts for the whole run: where all paths meet."""
    if tuple(paths) == (STDIN,):
        return os.path.dirname(os.path.abspath(stdin_filename)) if stdin_filename else os.getcwd()
    full = [os.path.abspath(path) for path in paths]
    above = [path if os.path.isdir(path) else os.path.dirname(path) for path in full]
    return os.path.commonpath(above)


# The directory of the project that a file is of.

REPOSITORIES = (".git", ".hg")
BUILDS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "README.md", "README.rst")
PACKAGE = "__init__.py"
CLIMB = 12  # folders above a path that are looked into


def project_of(path: str) -> str | None:
    """Return the top of the repository around `path`.

    Without one it is the highest folder above that says how to build or use what is in it
    (a part of a project may say so too), and without that the outermost package.
    """
    if (repository := repository_of(path)) is not None:
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


# The directory of the cache: one that tpulint may write to, or none.
#
# A configuration file of the project may name a place in the project only, links included: who
# checks a repository does not let it choose what is written elsewhere.

KEY = "cache-dir"
OPTIONS = "--cache-dir or TPULINT_CACHE_DIR"


class CachePlace(NamedTuple):
    """The directory of the cache, and a warning where there is none that may be used."""

    directory: str | None = None
    warnings: tuple[str, ...] = ()


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
    if within is not None and not is_inside(directory, within):
        fault = f"{directory} is outside of {within}, and accepted from {OPTIONS} only"
    elif is_foreign(directory):
        fault = f"{directory} is not empty, and tpulint has not created it"
    else:
        return CachePlace(directory)
    if is_default:
        return CachePlace(warnings=(f"no cache is used: {fault}",))
    raise ConfigError(f"{config.origin(KEY)}: {fault}")


def _is_users_own(file: str, start: str) -> bool:
    """Return whether a configuration file is of no project that the run can be about.

    That is so if it was named by --config: it is neither at or above the folder in which the run
    begins, nor in the project there.
    """
    folder = os.path.dirname(os.path.abspath(file))
    return not is_inside(start, folder) and not is_inside(folder, project_of(start) or start)


def _top(folder: str) -> str:
    return repository_of(folder) or os.path.abspath(folder)
