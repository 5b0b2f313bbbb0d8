"""Configuration files: where they are, how they are read, and which one counts for a file.

Their path patterns have ruff's meaning. A pattern without a slash fits a file's or directory's own
name, one with a slash the path below the configuration's directory; `*` crosses slashes in both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping

from tpulint import disk
from tpulint.config.keys import Config, from_table
from tpulint.config.readers import ConfigError, string, strings

MAGIC = re.compile(r"[*?\[]")


class Patterns:
    """A matcher of paths against `patterns`; plain names cost one set look-up."""

    def __init__(self, patterns: Iterable[str], root: str) -> None:
        texts = [pattern.removeprefix("./").rstrip("/") for pattern in patterns]
        self.root = os.path.abspath(root)
        names = {text for text in texts if "/" not in text}
        globs = [text for text in texts if text in names and MAGIC.search(text)]
        self.names = names.difference(globs)
        self.globs = compiled(globs)
        paths = (os.path.join(self.root, text) for text in texts if "/" in text)
        self.paths = compiled(map(os.path.normpath, paths))

    def fit(self, path: str, name: str) -> bool:
        """Return whether the absolute `path`, whose last part is `name`, fits."""
        return name in self.names or bool(self.globs.match(name) or self.paths.match(path))

    def fit_within(self, path: str) -> bool:
        """Return whether the absolute `path` or a directory above it, below the root, fits."""
        while path != self.root:
            above, name = os.path.split(path)
            if self.fit(path, name):
                return True
            if above == path:
                return False
            path = above
        return False


def compiled(globs: Iterable[str]) -> re.Pattern[str]:
    import fnmatch

    parts = [fnmatch.translate(pattern) for pattern in globs]
    return re.compile("|".join(parts) or "(?!)")  # of no globs: what nothing fits


PYPROJECT = "pyproject.toml"
# The first of them that a directory holds counts there, as with ruff's.
FILES = (".tpulint.toml", "tpulint.toml", PYPROJECT)
ALLOW = "allow-rules-dir"  # the key of the user's own configuration


def find_config(start: str) -> Config:
    """Return the configuration closest to the directory `start`, at or above it.

    Raises ConfigError for one that cannot be read or holds a wrong key or value.
    """
    return Closest(start).of(os.path.abspath(start))


def _table_in(directory: str) -> tuple[Mapping[str, object], str] | None:
    """Return the first table of FILES in a folder, and its file: a pyproject.toml may hold none."""
    for name in FILES:
        path = os.path.join(directory, name)
        table = read_table(path) if is_regular(path) else None
        if table is not None:
            return table, path
    return None


def is_regular(path: str) -> bool:
    """Return whether there is a file; what only has the name of one is passed over."""
    try:
        disk.require_readable(path, disk.CONFIGURATION_LIMIT_BYTES)
    except disk.TooLargeFileError:
        return True
    except OSError:
        return False
    return True


def load_config(path: str) -> Config:
    """Return the configuration in `path`: a pyproject.toml, or a file of the table's keys alone."""
    return _extended(read_table(path) or {}, path)


def _extended(table: Mapping[str, object], path: str) -> Config:
    """Return the table of the file `path` over the files that it extends."""
    config = Config()
    for file, own in reversed(_chain(table, path)):
        config = from_table(own, file, config)
    return config


def _chain(table: Mapping[str, object], path: str) -> list[tuple[str, Mapping[str, object]]]:
    """Return the file `path`, the one it extends, and so on, each with its table."""
    chain = [(path, table)]
    while (named := table.get("extend")) is not None:
        try:
            folder = os.path.dirname(os.path.abspath(path))
            target = os.path.normpath(os.path.join(folder, os.path.expanduser(string(named))))
            if any(os.path.abspath(file) == target for file, _ in chain):
                raise ConfigError(f"{target} extends this file")
            table = read_table(target) or {}
        except ConfigError as error:
            raise ConfigError(f"{path}: extend: {error}") from None
        path = target
        chain.append((path, table))
    return chain


def read_table(path: str) -> Mapping[str, object] | None:
    try:
        data = disk.read_regular(path, disk.CONFIGURATION_LIMIT_BYTES)
    except OSError as error:
        raise ConfigError(f"{path}: cannot read: {error.strerror or error}") from None
    named_pyproject = os.path.basename(path) == PYPROJECT
    if named_pyproject and b"tpulint" not in data:
        return None
    document = parse_toml(path, data)
    if not named_pyproject and "tool" not in document:
        return document
    tool = document.get("tool", {})
    table = tool.get("tpulint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: [tool.tpulint] is not a table")
    return table


def parse_toml(where: str, data: bytes) -> dict[str, object]:
    """Return the document. Raises ConfigError, which names it by `where`."""
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{where}: not TOML: {error}") from None


# Directories with rules. They are read by themselves: the codes that a configuration names may be
# those of rules that are not loaded yet.


def named_rules_directories(start: str) -> tuple[str, tuple[str, ...]]:
    """Return the configuration file closest to a directory, and the rules' directories in it.

    These are absolute. `start` may also be a configuration file. Raises ConfigError.
    """
    place = os.path.abspath(start)
    own = (read_table(place) or {}, place) if os.path.isfile(place) else _table_in(place)
    while own is None:
        above = os.path.dirname(place)
        if above == place:
            return "", ()
        place, own = above, _table_in(above)
    # Of the files that extend each other, the first that names any counts.
    chain = _chain(*own)
    file, table = next((row for row in chain if "rules-dir" in row[1]), chain[0])
    return file, _rules_directories(file, table, "rules-dir")


def allowed_rules_directories() -> tuple[str, ...]:
    """Return the directories whose rules the user allows projects to use. Raises ConfigError."""
    path = user_config_path()
    if not is_regular(path):
        return ()
    table = read_table(path) or {}
    for key in table:
        if key != ALLOW:
            raise ConfigError(f"{path}: '{key}' cannot be set for all projects, only {ALLOW}")
    return _rules_directories(path, table, ALLOW)


def user_config_path() -> str:
    if os.name == "nt":
        base = os.environ.get("APPDATA") or os.path.expanduser("~")
    else:  # on macOS too, as ruff does
        base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser(os.path.join("~", ".config"))
    return os.path.join(base, "tpulint", "tpulint.toml")


def _rules_directories(path: str, table: Mapping[str, object], key: str) -> tuple[str, ...]:
    try:
        named = strings(table.get(key, []))
    except ConfigError as error:
        raise ConfigError(f"{path}: {key}: {error}") from None
    root = os.path.dirname(os.path.abspath(path))
    full = (os.path.normpath(os.path.join(root, os.path.expanduser(path))) for path in named)
    return tuple(full)


# The configuration of each file: the closest one, and over it what the command line says.


class Closest:
    """The configuration of each directory, with each file read once.

    `fixed` counts for every directory instead (--config FILE, --isolated); `over` lays the
    command line's values over what was found; `root` is the root where there is no file.
    """

    def __init__(
        self,
        root: str,
        fixed: Config | None = None,
        over: Callable[[Config], Config] = lambda config: config,
    ) -> None:
        self._over = over
        self._fixed = None if fixed is None else over(fixed)
        self._none = over(Config(root=os.path.abspath(root)))
        self._known: dict[str, Config] = {}
        self._patterns: dict[str | None, Patterns] = {}

    def of(self, directory: str) -> Config:
        """Return the configuration of the absolute `directory`. Raises ConfigError."""
        if self._fixed is not None:
            return self._fixed
        config = self._known.get(directory)
        if config is None:
            own = _table_in(directory)
            above = os.path.dirname(directory)
            if own is not None:
                config = self._over(_extended(*own))
            else:
                config = self.of(above) if above != directory else self._none
            self._known[directory] = config
        return config

    def of_file(self, filename: str) -> Config:
        """Return the configuration of a file, which need not exist."""
        return self.of(os.path.dirname(os.path.abspath(filename)))

    def patterns(self, directory: str) -> Patterns:
        """Return the patterns of what is left out among the entries of `directory`."""
        config = self.of(directory)
        patterns = self._patterns.get(config.file)
        if patterns is None:
            patterns = self._patterns[config.file] = Patterns(config.excluded, config.root)
        return patterns

    def excludes(self, path: str) -> bool:
        """Return whether `path` (absolute) or a directory above it, below the root, is left out."""
        while True:
            above, name = os.path.split(path)
            config = self.of(above)
            is_closest = self._fixed is None and config.file is not None
            is_below = is_closest or path.startswith(os.path.join(config.root, ""))
            if above == path or not is_below:
                return False
            if self.patterns(above).fit(path, name):
                return True
            path = above
