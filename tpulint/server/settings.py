"""The client's settings: `initializationOptions`, and `workspace/didChangeConfiguration`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tpulint.config import Config, overridden
from tpulint.config.model import read
from tpulint.config.readers import ConfigError

SECTION = "tpulint"


class ClientSettings(NamedTuple):
    """certainty: over that of every configuration file. code_lens, inlay_hints: shown or not."""

    certainty: str | None = None
    code_lens: bool = True
    inlay_hints: bool = True

    def over(self, config: Config) -> Config:
        """Return the configuration with the client's values laid over it."""
        if self.certainty is None:
            return config
        value = read("certainty", self.certainty)
        return overridden(config, "certainty", value, "the editor's settings")


def settings_of(given: object) -> ClientSettings:
    """Return the settings in what a client sends, which may hold them in a section.

    Raises ConfigError for values that make no sense; unknown keys are other versions' keys.
    """
    table = given if isinstance(given, Mapping) else {}
    for section in ("settings", SECTION):
        inner = table.get(section)
        table = inner if isinstance(inner, Mapping) else table
    certainty = table.get("certainty") or None
    if certainty is not None:
        read("certainty", certainty)
    return ClientSettings(
        certainty,
        switch(table, "codeLens"),
        switch(table, "inlayHints"),
    )


def switch(table: Mapping[str, object], key: str) -> bool:
    value = table.get(key, True)
    if not isinstance(value, bool):
        raise ConfigError(f"{SECTION}.{key}: must be true or false")
    return value
