"""The facts that are typed in: TOML files beside this one, read when they are asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def typed(path: Path) -> dict[str, Any]:
    """Return the content of the file at `path`."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    return tomllib.loads(path.read_text(encoding="utf-8"))
