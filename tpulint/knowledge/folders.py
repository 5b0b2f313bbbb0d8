"""Which paths only the machine of the program has: `folders.toml`, which says how it reads."""

from __future__ import annotations

import functools
from pathlib import Path

from tpulint.knowledge.typed import typed

TABLE = Path(__file__).with_name("folders.toml")


@functools.cache
def _local() -> tuple[str, ...]:
    return tuple(row["starts"] for row in typed(TABLE)["local"])


def is_local(path: str) -> bool:
    """Whether `path`, or what is known of its beginning, leads to the machine of the program."""
    return path.startswith(_local())
