"""The memory of the last runs belongs to one version of the tool."""

from __future__ import annotations

from pathlib import Path

import tpulint
from tpulint.pipeline.run_cache import source_stamp


def test_every_file_of_the_analyzer_belongs_to_its_version() -> None:
    package = Path(tpulint.__file__).parent
    files = [path for path in package.rglob("*") if path.suffix in (".py", ".toml", ".tsv")]
    own = [path for path in files if "runtime" not in path.relative_to(package).parts]
    assert source_stamp() == max(path.stat().st_mtime_ns for path in own)
