"""`tpulint clean`: remove the cache."""

from __future__ import annotations

import argparse
import os

from tpulint.cache_dir import clear, is_ours
from tpulint.cli.overrides import closest
from tpulint.config import ConfigError
from tpulint.pipeline.cache_place import cache_place


def clean(options: argparse.Namespace) -> int:
    """Remove the cache, and nothing that tpulint has not made."""
    here = os.getcwd()
    config = closest(options, here).of(here)
    directory = cache_place(config, here).directory
    if directory is None or (os.path.isdir(directory) and not is_ours(directory)):
        raise ConfigError(f"{config.cache_path}: not removed: not a cache directory of tpulint")
    if os.path.islink(directory):
        raise ConfigError(f"{directory}: not removed: it is a link")
    if os.path.isdir(directory):
        try:
            is_gone = clear(directory)
        except OSError as error:
            raise ConfigError(f"{directory}: cannot be removed: {error.strerror}") from None
        print(f"Removed {directory}" if is_gone else f"Removed the cache in {directory}")
    return 0
