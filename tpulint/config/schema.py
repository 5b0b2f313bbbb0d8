"""The JSON schema of the configuration, for editors and for the reference."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tpulint.codes import CODES, HOME, NAMES
from tpulint.config.keys import KEYS


def schema() -> dict[str, object]:
    """Return the schema of a tpulint.toml, which is that of the table `[tool.tpulint]` too."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": f"{HOME}/tpulint.schema.json",
        "title": "The configuration of tpulint",
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: dict(properties(key.name)) for key in KEYS.values()},
        "$defs": {"selector": {"type": "string", "enum": ["ALL", *selectors(), *NAMES]}},
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"


def properties(name: str) -> Iterator[tuple[str, object]]:
    key = KEYS[name]
    yield from {"description": key.text, **key.schema}.items()
    if key.default is not None:
        yield "default", key.default


def selectors() -> list[str]:
    """Return the codes and their beginnings, the shorter ones first where they share one."""
    found = {code[:length] for code in CODES for length in range(3, 7)}
    return sorted(found)
