"""Results as text, for the database and for the cache that machines share.

It is JSON, as other processes and machines may write it: to decode it runs nothing. Whatever does
not decode is no result.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from tpulint.diagnostics.suppress import CommentFacts
from tpulint.disk import PassedOver
from tpulint.finding import (
    Applicability,
    Certainty,
    Change,
    Edit,
    Finding,
    Fix,
    Location,
    Span,
    Step,
    UnfollowedCall,
)
from tpulint.frontends.tensorflow.spelling_search import NamesInFile, Spelled
from tpulint.incremental.disk import DiskDependencies
from tpulint.incremental.model import Analysis, FileFacts, Job, ProgramCoverage, Programs

Row = Iterable[Any]  # a list of JSON, unchecked: `sound` catches what does not fit
T = TypeVar("T")

# Raised where a result is decoded that is none.
UNSOUND = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
NO_FACTS = FileFacts()


def encoded(value: object) -> str:
    """Return a value of lists, tables and words as text."""
    return json.dumps(value, separators=(",", ":"))


def decoded(decode: Callable[[Any], T], text: str | bytes) -> T | None:
    """Return what `decode` makes of the content of a text; None where it is no result."""
    try:
        return decode(json.loads(text))
    except UNSOUND:
        return None


def sound(decode: Callable[..., T], *rows: Any) -> T | None:
    """Return what `decode` makes of rows; None where they are no result."""
    try:
        return decode(*rows)
    except UNSOUND:
        return None


class Paths:
    """Paths as they are written: from the folder of the check on.

    Other machines may have that folder elsewhere.
    """

    def __init__(self, here: str) -> None:
        self.here = here
        self._inside = os.path.join(here, "")

    def relative(self, path: str) -> str:
        """Return an absolute path as one that begins in the folder, if that is possible."""
        if path.startswith(self._inside):
            return path[len(self._inside) :]
        try:
            return os.path.relpath(path, self.here)
        except ValueError:  # of Windows: it is on another drive
            return path

    def absolute(self, path: str) -> str:
        """Return the path that was written as `path`."""
        if path[:1] == os.curdir:  # it may lead out of the folder, or be the folder itself
            return os.path.normpath(self._inside + path)
        return path if os.path.isabs(path) else self._inside + path


def is_outside(path: str) -> bool:
    """Return whether a relative path leads out of the folder that it begins in."""
    return path.startswith(os.pardir) or os.path.isabs(path)


# The facts of a file.


def encoded_facts(facts: FileFacts) -> str:
    """Return the facts of a file without those at the end that most files do not have."""
    row: list[object] = list(facts)
    while row and row[-1] == NO_FACTS[len(row) - 1]:
        row.pop()
    return encoded(row)


def decoded_facts(texts: Iterable[str]) -> list[FileFacts] | None:
    """Return the facts of files, which are decoded together: that is many times as fast."""
    rows = list(texts)
    facts = decoded(_all_facts, f"[{','.join(rows)}]")
    return facts if facts is not None and len(facts) == len(rows) else None


def _all_facts(rows: Iterable[Any]) -> list[FileFacts]:
    if not all(type(row) is list for row in rows):  # the keys of a table would pass for facts
        raise TypeError("no facts")
    return [_facts(*row) for row in rows]


def _facts(
    imports: str = "",
    names_tpu: bool = False,
    of_home: bool = False,
    marked: bool = False,
    script: bool = False,
    placement: str | None = None,
    names: Iterable[Any] = (),
    frameworks: str = "",
) -> FileFacts:
    if not isinstance(imports, str) or not isinstance(names_tpu, bool):
        raise TypeError("no facts")
    first = (imports, names_tpu, of_home, marked, script, placement)
    return FileFacts(*first, _names(*names), frameworks)


def _names(
    missing: Iterable[str] = (), keras_2: bool = False, spellings: Iterable[Any] | None = None
) -> NamesInFile:
    if spellings is None:
        return NamesInFile(tuple(missing), keras_2)
    from tpulint.syntax.api_spellings import FileSpellings

    names, aliases, asks = spellings
    spelled = FileSpellings(tuple(map(_spelled_name, names)), _aliases(aliases), asks)
    return NamesInFile(tuple(missing), keras_2, spelled)


def _spelled_name(row: Row) -> Any:
    from tpulint.syntax.api_spellings import SpelledName

    place, paths, start, end, *rest = row
    return SpelledName(place, tuple(paths), tuple(start), tuple(end), *rest)


def _aliases(row: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(paths) for name, paths in row.items()}


# What was asked of the disk.


def dependencies_row(dependencies: DiskDependencies, paths: Paths) -> dict[str, object]:
    """Return dependencies for JSON."""
    relative = paths.relative
    return {
        "files": {relative(path): digest for path, digest in dependencies.files.items()},
        "present": {relative(path): sorted(n) for path, n in dependencies.present.items()},
        "absent": {relative(path): sorted(n) for path, n in dependencies.absent.items()},
        "listings": [
            [kind, relative(path), names] for (kind, path), names in dependencies.listings.items()
        ],
    }


def dependencies_of(row: Mapping[str, Any], paths: Paths) -> DiskDependencies:
    """Return the dependencies of a row."""
    absolute = paths.absolute
    return DiskDependencies(
        {absolute(path): digest for path, digest in row["files"].items()},
        {absolute(path): names for path, names in row["present"].items()},
        {absolute(path): names for path, names in row["absent"].items()},
        {(kind, absolute(path)): names for kind, path, names in row["listings"]},
    )


# The programs of a batch.


def programs_row(programs: Programs) -> list[object]:
    """Return the programs for JSON."""
    rows = programs.jobs, programs.marked, programs.spelled, programs.passed_over
    return [*rows, dict(programs.using)]


def programs_of(row: Row) -> Programs:
    """Return the programs of a row."""
    jobs, marked, spelled, passed_over, using = row
    return Programs(
        tuple(
            Job(tuple(seeds), tuple((path, state) for path, state in placed), size, tuple(callers))
            for seeds, placed, size, callers in jobs
        ),
        tuple(marked),
        tuple(_spelled(*row) for row in spelled),
        tuple(PassedOver(*row) for row in passed_over),
        dict(using),
    )


def _spelled(
    name: Iterable[Any],
    span: Iterable[Any],
    having: int,
    target: Iterable[Any],
    aliases: Mapping[str, Iterable[str]],
    asks: bool,
    excludes: bool,
) -> Spelled:
    from tpulint.frontends.tensorflow.target_release import Requirement, Target

    filename, start, end = span
    place = Span(filename, Location(*start), Location(*end))
    mask, stated, configured, requirement, *rest = target
    required = None
    if requirement is not None:
        text, begin, stop, *allowed = requirement
        required = Requirement(text, Location(*begin), Location(*stop), *allowed)
    of_file = Target(mask, stated, configured, required, *rest)
    return Spelled(_spelled_name(name), place, having, of_file, _aliases(aliases), asks, excludes)


# The findings in a program.


def analysis_row(analysis: Analysis, paths: Paths) -> dict[str, object]:
    """Return what was found in a program for JSON."""
    return {
        "findings": [_finding_row(finding) for finding in analysis.findings],
        "messages": analysis.messages,
        "skipped": dict(analysis.skipped),
        "unfollowed": sorted(analysis.unfollowed),
        "passed_over": [
            (paths.relative(os.path.abspath(path)), reason, is_too_large)
            for path, reason, is_too_large in analysis.passed_over
        ],
        "programs": analysis.programs,
    }


def analysis_of(row: Mapping[str, Any], paths: Paths) -> Analysis:
    """Return what was found in the program of a row."""
    return Analysis(
        tuple(map(_finding, row["findings"])),
        messages=tuple(row["messages"]),
        skipped=dict(row["skipped"]),
        unfollowed=frozenset(UnfollowedCall(*call) for call in row["unfollowed"]),
        passed_over=tuple(
            PassedOver(paths.absolute(path), reason, is_too_large)
            for path, reason, is_too_large in row["passed_over"]
        ),
        programs=tuple(
            ProgramCoverage(begins, tuple(files), unreached)
            for begins, files, unreached in row["programs"]
        ),
    )


def _finding_row(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "message": finding.message,
        "span": finding.span,
        "certainty": finding.certainty.value,
        "trace": finding.trace,
        "fix": fix_row(finding.fix),
    }


def fix_row(fix: Fix | None) -> list[object] | None:
    """Return a fix for JSON."""
    return None if fix is None else [fix.applicability.value, *fix[1:]]


def fix_of(row: Row | None) -> Fix | None:
    """Return the fix of a row."""
    if row is None:
        return None
    applicability, message, edits, changes = row
    return Fix(
        Applicability(applicability),
        message,
        tuple(Edit(Location(*start), Location(*end), content) for start, end, content in edits),
        tuple(
            Change(function, Location(*start), Location(*end), tuple(arguments))
            for function, start, end, arguments in changes
        ),
    )


def _finding(row: Mapping[str, Any]) -> Finding:
    trace = tuple(Step(lane, _span(span), *words) for lane, span, *words in row["trace"])
    certainty = Certainty(row["certainty"])
    return Finding(
        row["code"], row["message"], _span(row["span"]), certainty, trace, fix_of(row["fix"])
    )


def comment_facts_row(facts: CommentFacts | None) -> Row:
    """Return the facts of comments for JSON; a row of nothing where the file cannot be parsed."""
    if facts is None:
        return []
    return [[[*place, text] for place, text in facts.comments], [*facts.last_rows.items()]]


def comment_facts_of(row: Row) -> tuple[CommentFacts | None]:
    """Return the facts of comments that a row has, or that there are none."""
    parts = [*row]
    if not parts:
        return (None,)
    comments, last_rows = parts
    places = ((Location(int(first), int(column)), str(text)) for first, column, text in comments)
    return (CommentFacts(tuple(places), {int(first): int(last) for first, last in last_rows}),)


def completed_fix(row: Row) -> tuple[Fix | None]:
    """Return the fix of a row that is one, or that says there is none."""
    (fix,) = row
    return (fix_of(fix),)


def _span(row: Row) -> Span:
    filename, start, end = row
    return Span(filename, Location(*start), Location(*end))
