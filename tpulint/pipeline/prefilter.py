"""Search the bytes of every file once: which files can matter, and which names they spell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tpulint.analysis.names.api_names import Spelled, SpellingSearch
from tpulint.analysis.options import Settings
from tpulint.analysis.soft_placement import SIGN, placement_in
from tpulint.diagnostics.suppression_prefilter import may_name_own_codes
from tpulint.disk import DISK
from tpulint.finding import Finding, Location, Span
from tpulint.syntax.prefilter import passes


class Prefiltered(NamedTuple):
    """The result of a search of the bytes of some files.

    seeds: the files that show the seam. marked: those that may hold suppressions. setters:
    those that turn soft placement on, and with which certainty. spelled: names that the
    TensorFlow of their files lacks. consulted: the requirement files that say which one that is.
    """

    seeds: tuple[str, ...]
    marked: tuple[str, ...]
    setters: tuple[tuple[str, str], ...]
    spelled: tuple[Spelled, ...]
    consulted: tuple[str, ...]
    findings: tuple[Finding, ...]


def prefilter(
    filenames: Sequence[str],
    given: Mapping[str, bytes],
    settings: Settings,
    context: Collection[str] = (),
) -> Prefiltered:
    """Search the bytes of the files; `given` holds those that are not (or not yet) on disk.

    Suppressions do not matter in the files that are only `context`.
    """
    seeds, marked, findings = [], [], []
    setters: list[tuple[str, str]] = []
    spelling = SpellingSearch(settings.target_tensorflow)
    for filename in filenames:
        data = given.get(filename)
        try:
            data = DISK.read(filename) if data is None else data
        except OSError as error:
            findings.append(unreadable(filename, f"cannot be read: {error.strerror}", 1, 1))
            continue
        if SIGN in data and (state := placement_in(data)) is not None:
            setters.append((filename, state))
        spelling.look(filename, data)
        if filename not in context and may_name_own_codes(data):
            marked.append(filename)
        if passes(data, settings.wrappers):
            seeds.append(filename)
    return Prefiltered(
        tuple(seeds),
        tuple(marked),
        tuple(setters),
        tuple(spelling.found),
        tuple(spelling.targets.consulted),
        tuple(findings),
    )


def merge(parts: Sequence[Prefiltered]) -> Prefiltered:
    """Return the results for all files as one."""
    return Prefiltered(
        tuple(each for part in parts for each in part.seeds),
        tuple(each for part in parts for each in part.marked),
        tuple(each for part in parts for each in part.setters),
        tuple(each for part in parts for each in part.spelled),
        tuple(each for part in parts for each in part.consulted),
        tuple(each for part in parts for each in part.findings),
    )


def unreadable(filename: str, reason: str, row: int, column: int) -> Finding:
    place = Location(max(row, 1), max(column, 1))
    return Finding("TPU001", reason, Span(filename, place, place))
