"""Resolve findings against suppressions and per-file-ignores."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from tpulint.codes import codes_by_default, codes_of, codes_selected_by, performance_codes
from tpulint.config import Config
from tpulint.config.files import Patterns
from tpulint.diagnostics.suppress import MARK, CommentReader, comment_facts, read_comments, unused
from tpulint.finding import Finding
from tpulint.source import Source

# Select codes by layers of select, extend-select and ignore, with ruff's precedence.

UNPARSED = "TPU001"


class RuleSelection(NamedTuple):
    """One source of selectors; a later source's `select` starts over.

    performance: the rules about performance are selected as well.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    performance: bool = False


def selected(layers: Sequence[RuleSelection]) -> frozenset[str]:
    """Return the codes asked for. In one layer the longer selector wins, and `ignore` a draw.

    A file that cannot be parsed was not checked, whatever was selected: only `ignore` silences
    TPU001.
    """
    chosen = set(codes_by_default())
    for layer in layers:
        if layer.select is not None:
            chosen = {UNPARSED}
        if layer.performance:
            chosen |= performance_codes()
        selectors = (*(layer.select or ()), *layer.extend_select)
        for length in sorted({len(prefix(selector)) for selector in (*selectors, *layer.ignore)}):
            equally_long = [it for it in selectors if len(prefix(it)) == length]
            chosen = chosen.union(*map(codes_selected_by, equally_long))
            chosen -= expand(it for it in layer.ignore if len(prefix(it)) == length)
    return frozenset(chosen)


def expand(selectors: Iterable[str]) -> frozenset[str]:
    """Return all codes that one of the selectors means."""
    return frozenset().union(*map(codes_of, selectors))


def prefix(selector: str) -> str:
    return "" if selector == "ALL" else selector


def unsuppressed(
    found: Sequence[Finding],
    sources: Mapping[str, Source],
    suppressors: Iterable[str],
    partial: Collection[str],
    request: SuppressionSettings,
    read: CommentReader = comment_facts,
) -> list[Finding]:
    """Return the findings that nothing suppresses, with TPU002 for comments that suppress nothing.

    `partial` files were looked at without the project around them: what their suppressions
    are for may show only with it, so TPU002 is definite only where the file itself decides.
    `read` gives what is to be known of the comments in a file.
    """
    remaining: list[Finding] = []
    by_file: dict[str, list[Finding]] = {}
    for finding in found:
        by_file.setdefault(finding.span.filename, []).append(finding)
    for filename in sorted({*by_file, *suppressors}):
        codes = request.codes_of(filename) - ignored(request.config_of(filename), filename)
        everything = by_file.get(filename, [])
        broken = any(finding.code == "TPU001" for finding in everything)
        findings = [finding for finding in everything if finding.code in codes]
        source = sources.get(filename)
        # Most files have no mark: no need to look for their comments.
        if source is None or not request.suppressions or not MARK.search(source.text):
            remaining += findings
            continue
        comments = read_comments(source, request.noqa, read)
        remaining += [finding for finding in findings if not comments.suppress(finding)]
        if "TPU002" in codes and not broken:
            idle = unused(comments, codes, source if filename in partial else None)
            remaining += [finding for finding in idle if not comments.suppress(finding)]
    return sorted(remaining, key=lambda finding: (finding.span, finding.code))


class SuppressionSettings(Protocol):
    """The facts about a run that resolving its findings needs."""

    def codes_of(self, filename: str) -> frozenset[str]: ...
    def config_of(self, filename: str) -> Config: ...
    @property
    def noqa(self) -> bool: ...
    @property
    def suppressions(self) -> bool: ...


def ignored(config: Config, filename: str) -> frozenset[str]:
    """Return the codes that `per-file-ignores` takes from a file.

    A pattern with "!" is turned round.
    """
    path = os.path.abspath(filename)
    ignored_codes: set[str] = set()
    for patterns, turned, codes in ignores_of(config.per_file_ignores, config.root):
        if patterns.fit_within(path) != turned:
            ignored_codes |= codes
    return frozenset(ignored_codes)


IgnoreTable = tuple[tuple[Patterns, bool, frozenset[str]], ...]


@functools.cache
def ignores_of(table: tuple[tuple[str, tuple[str, ...]], ...], root: str) -> IgnoreTable:
    return tuple(
        (Patterns([pattern.removeprefix("!")], root), pattern.startswith("!"), expand(codes))
        for pattern, codes in table
    )


def free_trees() -> None:
    """Free the syntax trees that suppressions and fixes were read from."""
    # A check that made no tree has not loaded libcst, and does not do so now.
    tree_module = sys.modules.get("tpulint.diagnostics.source_tree")
    if tree_module is not None:
        tree_module.tree_of.cache_clear()
        tree_module.statement_rows.cache_clear()
