"""Which findings stand in the face of the suppressions and of the per-file-ignores."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence

from tpulint.config import Config
from tpulint.finding import Certainty, Finding
from tpulint.patterns import Patterns
from tpulint.source import Source
from tpulint.verdict.select import expand
from tpulint.verdict.suppress import read_comments, unused


def stand(
    found: Sequence[Finding],
    sources: Mapping[str, Source],
    suppressors: Iterable[str],
    named: Collection[str],
    codes: Collection[str],
    config: Config,
) -> list[Finding]:
    """The findings that nothing silences, with TPU002 for the comments that silence nothing.

    `named` files were checked one by one: what their suppressions are for may show only
    when the whole project is looked at, so TPU002 is no more than possible there.
    """
    ignores = FileIgnores(config)
    standing: list[Finding] = []
    by_file: dict[str, list[Finding]] = {}
    for finding in found:
        by_file.setdefault(finding.span.filename, []).append(finding)
    for filename in sorted({*by_file, *suppressors}):
        asked = frozenset(codes) - ignores.of(filename)
        everything = by_file.get(filename, [])
        broken = any(each.code == "TPU001" for each in everything)
        findings = [each for each in everything if each.code in asked]
        source = sources.get(filename)
        if source is None:
            standing += findings
            continue
        comments = read_comments(source)
        standing += [each for each in findings if not comments.covers(each)]
        active = can_fire(asked)
        if "TPU002" in active and not broken:
            certainty = Certainty.POSSIBLE if filename in named else Certainty.DEFINITE
            idle = unused(comments, active, certainty)
            standing += [each for each in idle if not comments.covers(each)]
    return sorted(standing, key=lambda each: (each.span, each.code))


def can_fire(codes: Collection[str]) -> frozenset[str]:
    """The codes among `codes` that something reports."""
    from tpulint.rules import written

    return frozenset(codes) & {"TPU001", "TPU002", *written()}


class FileIgnores:
    """The codes that `per-file-ignores` takes from a file; a pattern with "!" is turned round."""

    def __init__(self, config: Config) -> None:
        self.rows = []
        for pattern, codes in config.per_file_ignores:
            patterns = Patterns([pattern.removeprefix("!")], config.root)
            self.rows.append((patterns, pattern.startswith("!"), expand(codes)))

    def of(self, filename: str) -> frozenset[str]:
        path = os.path.abspath(filename)
        found: set[str] = set()
        for patterns, turned, codes in self.rows:
            if patterns.fit_within(path) != turned:
                found |= codes
        return frozenset(found)
