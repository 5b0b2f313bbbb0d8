"""The findings of the last runs: nothing is analyzed twice while no file has changed.

A run is remembered under the names, sizes and times of its files, its settings and
its codes. What was imported from elsewhere is checked when it is recalled. An entry
that cannot be read is no entry.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.rows import finding_of, row_of
from tpulint.pipeline.version import package_hash

RUNS = "runs"
KEPT = 32


def recall(cache: str, key: str | None) -> Analysis | None:
    """Return the findings of the same run before, if its imported files have not changed."""
    folder = os.path.join(cache, RUNS)
    if not os.path.isdir(folder):
        return None
    import json

    if key is None:
        return None
    try:
        with open(os.path.join(folder, f"{key}.json"), encoding="utf-8") as stream:
            data = json.load(stream)
        if any(stamp(path) != known for path, known in data["imported"]):
            return None
        findings = [finding_of(row) for row in data["findings"]]
        known = Analysis(findings, data["messages"], marked=data["marked"])
        known.skipped.update(data["skipped"])
        return known
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def remember(cache: str, key: str | None, found: Analysis) -> None:
    """Keep what the run found, unless it failed or there was nothing to read."""
    if key is None or found.failed or not found.read:
        return
    import json
    import tempfile

    data = {
        "findings": [row_of(each) for each in found.findings],
        "messages": found.messages,
        "imported": [[path, stamp(path)] for path in sorted(set(found.imported))],
        "marked": found.marked,
        "skipped": dict(found.skipped),
    }
    folder = os.path.join(cache, RUNS)
    try:
        os.makedirs(folder, exist_ok=True)
        # Whole files only, for other runs may be reading.
        handle, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(data, stream, separators=(",", ":"))
        os.replace(name, os.path.join(folder, f"{key}.json"))
        _prune(folder)
    except OSError:
        return  # a cache that cannot be written was already spoken of by the summaries' store


def key_of(
    filenames: Sequence[str], context: Sequence[str], codes: Iterable[str], settings: Any
) -> str | None:
    """The name of a run; None where a file has just gone."""
    import hashlib

    head = [sys.version, package_hash(), sorted(codes), settings, os.getcwd()]
    digest = hashlib.sha256(repr(head).encode())
    digest.update(str(len(filenames)).encode())
    for filename in (*sorted(filenames), *sorted(context)):
        found = stamp(filename)
        if found is None:
            return None
        digest.update(f"{filename}\0{found}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def stamp(path: str) -> str | None:
    """Return the size and time of a file, None where there is none."""
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return f"{seen.st_size}:{seen.st_mtime_ns}"


def _prune(folder: str) -> None:
    paths = [os.path.join(folder, name) for name in os.listdir(folder)]
    for path in sorted(paths, key=lambda path: os.stat(path).st_mtime_ns)[:-KEPT]:
        os.unlink(path)
