"""tpulint as pip would have installed it, for programs that look for its entry points."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]


def entry_points(folder: Path) -> Path:
    """`folder`, holding what says that tpulint's plugin for pytest is as pyproject.toml says."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    plugins = declared["project"]["entry-points"]["pytest11"]
    info = folder / "tpulint-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tpulint\nVersion: 0\n")
    lines = [f"{name} = {module}" for name, module in plugins.items()]
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    return folder
