"""Paths that only the program's own machine has; `folders.toml` explains its rows."""

from __future__ import annotations

import functools
from pathlib import Path

from tpulint.knowledge.typed import typed

TABLE = Path(__file__).with_name("folders.toml")


@functools.cache
def _local() -> tuple[str, ...]:
    return tuple(row["starts"] for row in typed(TABLE)["local"])


def is_local(path: str) -> bool:
    """Return whether `path`, or its known beginning, leads to the program's own machine."""
    return path.startswith(_local())
