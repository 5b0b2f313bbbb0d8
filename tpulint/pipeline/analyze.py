"""From file names to a program: read, screen, parse, link, read from the entry points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tpulint.analysis.names.api_names import Spelling
from tpulint.analysis.options import Settings
from tpulint.analysis.soft_placement import Placement
from tpulint.finding import Finding, Location, Span
from tpulint.syntax.prefilter import passes

if TYPE_CHECKING:
    from pathlib import Path

    from tpulint.analysis.domain.program import Program
    from tpulint.source import Source

__all__ = ["Settings", "Understanding", "understand"]


class Understanding(NamedTuple):
    """The program, findings TPU001 for what cannot be parsed, and lines for standard error."""

    program: Program | None  # None where no file holds anything to read
    findings: tuple[Finding, ...]
    messages: tuple[str, ...]


def understand(
    filenames: Sequence[str],
    *,
    given: Mapping[str, bytes] | None = None,
    settings: Settings | None = None,
    cache: str | Path | None = None,
    jobs: int = 1,
    watch: Callable[[str, bytes], None] | None = None,
) -> Understanding:
    """Read the program in `filenames` and what it imports from its own project.

    `given` holds the bytes of files that are not (or not yet) on disk; `cache` is a
    folder for summaries, None for none; `jobs` is the number of processes that parse;
    `watch` is shown the bytes of every file, so that nobody has to read them again.
    """
    settings = settings or Settings()
    given = given or {}
    findings: list[Finding] = []
    sources: list[Source] = []
    spelling, placement = Spelling(settings.target_tensorflow), Placement()
    for filename in filenames:
        data = given.get(filename)
        try:
            data = _read(filename) if data is None else data
        except OSError as error:
            findings.append(unreadable(filename, f"cannot be read: {error.strerror}", 1, 1))
            continue
        if watch is not None:
            watch(filename, data)
        spelling.look(filename, data)
        placement.look(data)
        if passes(data, settings.wrappers):
            _take(filename, data, sources, findings)
    if not sources and not spelling.found:
        return Understanding(None, tuple(findings), ())
    from tpulint.analysis.domain.program import Program

    program, messages = Program(), []
    if sources:
        from tpulint.analysis.build_program import link
        from tpulint.syntax.deep_stack import deeply
        from tpulint.syntax.summary_cache import Store

        store = Store(cache, jobs)
        program = deeply(lambda: link(sources, filenames, given, settings, store))
        findings += store.findings
        messages = store.messages
    program.spelled, program.targets = spelling.found, spelling.targets
    program.soft_placement = placement.state
    return Understanding(program, tuple(findings), tuple(messages))


def _read(filename: str) -> bytes:
    with open(filename, "rb") as stream:
        return stream.read()


def _take(filename: str, data: bytes, sources: list[Source], findings: list[Finding]) -> None:
    """The source of a file that can matter; only such a file has to be text at all."""
    from tpulint.source import UnreadableSource, read_source

    try:
        source = read_source(filename, data)
    except UnreadableSource as error:
        findings.append(unreadable(filename, error.reason, error.row, error.column))
        return
    sources.append(source)
    findings += [unreadable(filename, *problem) for problem in source.problems]


def unreadable(filename: str, reason: str, row: int, column: int) -> Finding:
    place = Location(max(row, 1), max(column, 1))
    return Finding("TPU001", reason, Span(filename, place, place))
