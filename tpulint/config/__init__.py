"""The configuration: its keys, its files, and the one that is closest to a file."""

from tpulint.config.files import find_config, load_config
from tpulint.config.keys import Config, from_table, overridden
from tpulint.config.readers import ConfigError, nearest

__all__ = [
    "Config",
    "ConfigError",
    "find_config",
    "from_table",
    "load_config",
    "nearest",
    "overridden",
]
