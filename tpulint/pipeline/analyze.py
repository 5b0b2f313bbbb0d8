"""From the names of files to one program: read, parse, link, read from the entry points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tpulint.analysis.names.target_release import Targets
from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.files import Files
from tpulint.disk import DISK, Disk
from tpulint.finding import Finding
from tpulint.pipeline.screen import unreadable
from tpulint.syntax.prefilter import passes

if TYPE_CHECKING:
    from pathlib import Path

    from tpulint.analysis.domain.program import Program
    from tpulint.analysis.interpreter.observer import Observer
    from tpulint.source import Source
    from tpulint.syntax.summary_cache import Store

__all__ = ["Settings", "Understanding", "understand"]


class Understanding(NamedTuple):
    """The program, findings TPU001 for what cannot be parsed, and lines for standard error."""

    program: Program | None  # None where no file holds anything to read
    findings: tuple[Finding, ...]
    messages: tuple[str, ...]
    files: Files | None = None  # that were looked for and read


def understand(
    filenames: Sequence[str],
    *,
    given: Mapping[str, bytes] | None = None,
    settings: Settings | None = None,
    cache: str | Path | None = None,
    files: Sequence[str] | None = None,
    placed: Mapping[str, str] | None = None,
    observer: Observer | None = None,
    isolated: int = 0,
    store: Store | None = None,
    disk: Disk = DISK,
) -> Understanding:
    """Read the program in `filenames` and what it imports from its own project.

    `given` holds the bytes of files that are not (or not yet) on disk; `cache` is a
    folder for summaries, None for none; `files` are all those of the run, `placed` those under
    soft placement; `observer` is shown what the interpreter reads; `isolated` is the number of
    other processes that parse, 0 for none; `store` has the summaries of modules, where somebody
    keeps them from one reading to the next; `disk` has the files.
    """
    settings = settings or Settings()
    given = given or {}
    findings: list[Finding] = []
    sources: list[Source] = []
    for filename in filenames:
        try:
            data = given[filename] if filename in given else disk.read(filename)
        except OSError as error:
            findings.append(unreadable(filename, f"cannot be read: {error.strerror}", 1, 1))
            continue
        if passes(data, settings.wrappers):
            _take(filename, data, sources, findings)
    if not sources:
        return Understanding(None, tuple(findings), ())
    from tpulint.analysis.build_program import link
    from tpulint.syntax.deep_stack import deeply
    from tpulint.syntax.summary_cache import Store as NewStore

    every = filenames if files is None else files
    found = Files(given, disk)
    store = store or NewStore(cache, isolated)
    program = deeply(lambda: link(sources, every, found, settings, store, observer))
    program.targets = Targets(settings.target_tensorflow, disk)
    program.soft_placement = placed or {}
    return Understanding(program, (*findings, *store.findings), tuple(store.messages), found)


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
