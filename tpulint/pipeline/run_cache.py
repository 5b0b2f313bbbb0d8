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

import tpulint
from tpulint.finding import (
    Applicability,
    Certainty,
    Edit,
    Finding,
    Fix,
    Location,
    Span,
    Step,
)
from tpulint.pipeline.projects import Analysis

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
        findings = [_finding(row) for row in data["findings"]]
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
        "findings": [_row(each) for each in found.findings],
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

    head = [tpulint.__version__, sys.version, source_stamp(), sorted(codes), settings, os.getcwd()]
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


def source_stamp() -> int:
    """The age of the tool's own files: a developer's change is another version."""
    newest = 0
    for folder, folders, names in os.walk(os.path.dirname(tpulint.__file__)):
        folders[:] = [each for each in folders if each not in ("runtime", "__pycache__")]
        for name in names:
            if name.endswith((".py", ".toml", ".tsv")):
                newest = max(newest, os.stat(os.path.join(folder, name)).st_mtime_ns)
    return newest


def _prune(folder: str) -> None:
    paths = [os.path.join(folder, name) for name in os.listdir(folder)]
    for path in sorted(paths, key=lambda path: os.stat(path).st_mtime_ns)[:-KEPT]:
        os.unlink(path)


def _row(found: Finding) -> dict[str, object]:
    fix = found.fix
    return {
        "code": found.code,
        "message": found.message,
        "span": _span_row(found.span),
        "certainty": found.certainty.value,
        "trace": [[step.lane, _span_row(step.span), step.message] for step in found.trace],
        "fix": None
        if fix is None
        else [
            fix.applicability.value,
            fix.message,
            [
                [each.start.row, each.start.column, each.end.row, each.end.column, each.content]
                for each in fix.edits
            ],
        ],
    }


def _span_row(span: Span) -> list[object]:
    return [span.filename, span.start.row, span.start.column, span.end.row, span.end.column]


def _finding(row: dict[str, Any]) -> Finding:
    fix = None
    if row["fix"] is not None:
        applicability, message, edits = row["fix"]
        made = tuple(Edit(Location(*each[:2]), Location(*each[2:4]), each[4]) for each in edits)
        fix = Fix(Applicability(applicability), message, made)
    trace = tuple(Step(lane, _span(span), message) for lane, span, message in row["trace"])
    certainty = Certainty(row["certainty"])
    return Finding(row["code"], row["message"], _span(row["span"]), certainty, trace, fix)


def _span(row: list[Any]) -> Span:
    return Span(row[0], Location(row[1], row[2]), Location(row[3], row[4]))
