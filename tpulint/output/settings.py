"""`tpulint config`: every key with the value that a run would use, and where it comes from."""

from __future__ import annotations

import enum
import json
import os

from tpulint.config import Config
from tpulint.config.keys import KEYS, ConfigKey
from tpulint.config.model import DEFAULT


def settings(config: Config) -> str:
    """TOML that `--config` would read again; a key without a value is a comment."""
    head = f"# {config.file}" if config.file else "# no configuration file"
    lines = [head, "[tool.tpulint]", *(line(key, config) for key in KEYS.values())]
    return "\n".join(lines) + "\n"


def line(key: ConfigKey, config: Config) -> str:
    """Return the key's line; the origin follows the value."""
    value = value_of(key, config)
    origin = shown_origin(config.origin(key.name))
    if value is None:
        return f"# {key.name} is not set  # {origin}"
    return f"{key.name} = {toml(value)}  # {origin}"


def value_of(key: ConfigKey, config: Config) -> object:
    """Return the value that counts, as TOML would hold it; None where there is none."""
    value = getattr(config, key.field)
    if key.name == "per-file-ignores":
        return {pattern: list(codes) for pattern, codes in value}
    if value is None or (key.name == "jobs" and not value):
        return key.default
    return value.value if isinstance(value, enum.Enum) else value


def toml(value: object) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{json.dumps(name)} = {toml(each)}" for name, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return json.dumps(value, ensure_ascii=False)


def shown_origin(origin: str) -> str:
    if origin == DEFAULT or not os.path.isabs(origin):
        return origin
    return os.path.relpath(origin)
