"""The configuration of each file: the closest one, and over it what the command line says."""

from __future__ import annotations

import os
from collections.abc import Callable

from tpulint.config.files import config_in
from tpulint.config.model import Config
from tpulint.patterns import Patterns

Over = Callable[[Config], Config]


class Closest:
    """The configuration of each directory, with each file read once.

    `fixed` counts for every directory instead (--config FILE, --isolated); `over` lays the
    command line's values over what was found; `root` is the root where there is no file.
    """

    def __init__(
        self, root: str, fixed: Config | None = None, over: Over = lambda config: config
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
        known = self._known.get(directory)
        if known is None:
            own = config_in(directory)
            above = os.path.dirname(directory)
            if own is not None:
                known = self._over(own)
            else:
                known = self.of(above) if above != directory else self._none
            self._known[directory] = known
        return known

    def of_file(self, filename: str) -> Config:
        """Return the configuration of a file, which need not exist."""
        if self._fixed is not None:
            return self._fixed
        return self.of(os.path.dirname(os.path.abspath(filename)))

    def patterns(self, directory: str) -> Patterns:
        """Return the patterns of what is left out among the entries of `directory`."""
        config = self.of(directory)
        known = self._patterns.get(config.file)
        if known is None:
            known = self._patterns[config.file] = Patterns(config.excluded, config.root)
        return known

    def excludes(self, path: str) -> bool:
        """Return whether `path` (absolute) or a directory above it, below the root, is left out."""
        while True:
            above, name = os.path.split(path)
            if above == path or not self._reaches(path):
                return False
            if self.patterns(above).fit(path, name):
                return True
            path = above

    def _reaches(self, path: str) -> bool:
        """Return whether `path` lies below the root of a configuration."""
        above = os.path.dirname(path)
        config = self.of(above)
        inside = path.startswith(os.path.join(config.root, ""))
        return inside or (self._fixed is None and config.file is not None)
