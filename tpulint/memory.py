"""What the last runs found: nothing is analysed twice while no file has changed.

A run is remembered under the names, sizes and times of its files, its settings and
its codes. What was imported from elsewhere is checked when it is recalled. An entry
that cannot be read is no entry.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tpulint
from tpulint.analyse import Analysis
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

KEPT = 32  # runs


def key_of(filenames: Sequence[str], codes: Iterable[str], settings: Any) -> str | None:
    """The name of this run; None where a file has just gone."""
    digest = hashlib.sha256()
    head = [tpulint.__version__, sys.version, source_stamp(), sorted(codes), repr(settings)]
    digest.update(json.dumps([*head, os.getcwd()]).encode())
    for filename in filenames:
        found = stamp(filename)
        if found is None:
            return None
        digest.update(f"{filename}\0{found}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def stamp(path: str) -> str | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return f"{seen.st_size}:{seen.st_mtime_ns}"


def source_stamp() -> str:
    """The age of the tool's own files: a developer's change is another version."""
    here = Path(__file__).parent
    newest = 0
    for folder, _, names in os.walk(here):
        if "runtime" in folder or folder.endswith("__pycache__"):
            continue
        for name in names:
            if name.endswith((".py", ".json")):
                newest = max(newest, os.stat(os.path.join(folder, name)).st_mtime_ns)
    return str(newest)


def recall(cache: str, key: str) -> Analysis | None:
    """What the run `key` found, if its imported files are still as they were."""
    try:
        with open(Path(cache) / "runs" / f"{key}.json", encoding="utf-8") as stream:
            data = json.load(stream)
        if any(stamp(path) != known for path, known in data["imported"]):
            return None
        findings = [_finding(row) for row in data["findings"]]
        return Analysis(findings, data["messages"], marked=data["marked"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def remember(cache: str, key: str, analysis: Analysis) -> None:
    """Keep what the run found; whole files only, for other runs may be reading."""
    if analysis.failed:
        return
    imported = [[path, stamp(path)] for path in sorted(set(analysis.imported))]
    rows = [_row(each) for each in analysis.findings]
    data = {
        "findings": rows,
        "messages": analysis.messages,
        "imported": imported,
        "marked": analysis.marked,
    }
    folder = Path(cache) / "runs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(data, stream, separators=(",", ":"))
        os.replace(name, folder / f"{key}.json")
        _prune(folder)
    except OSError:
        return  # a cache that cannot be written was already spoken of by the summaries' store


def _prune(folder: Path) -> None:
    kept = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    for path in kept[:-KEPT]:
        path.unlink()


def _row(found: Finding) -> dict[str, Any]:
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


def _span_row(span: Span) -> list[Any]:
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
