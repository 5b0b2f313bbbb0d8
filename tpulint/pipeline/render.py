"""Render the result of a check in one of the output formats."""

from __future__ import annotations

import os
from typing import NamedTuple

from tpulint.output import FOR_PEOPLE, load
from tpulint.output.context import RenderContext
from tpulint.pipeline.check_result import CheckResult


class Style(NamedTuple):
    """The style of the output. fixed: the number of faults that were fixed before."""

    output_format: str
    color: bool = False
    quiet: bool = False
    statistics: bool = False
    fixed: int = 0

    @property
    def for_people(self) -> bool:
        return self.output_format in FOR_PEOPLE


class Rendered(NamedTuple):
    """The output, and what standard error adds to it."""

    text: str
    messages: tuple[str, ...]


def rendered(result: CheckResult, style: Style) -> Rendered:
    """Return the findings as text, and in messages what the format does not show."""
    messages: list[str] = []
    context = context_of(result, style)
    if style.statistics:
        from tpulint.output.summary import limit_lines, skipped_lines, statistics

        text = statistics(result.findings, result.times, style.output_format)
        messages += skipped_lines(result.skipped)
        messages += limit_lines(result.unfollowed)
    elif style.for_people and not result.findings:  # all formats for people end alike
        from tpulint.output.summary import summary

        text = summary((), context)
    else:
        text = load(style.output_format)(result.findings, context)
    if not style.quiet and (not style.for_people or style.statistics):
        messages += _ending(result, style)
    return Rendered(text, tuple(messages))


def _ending(result: CheckResult, style: Style) -> list[str]:
    """Return what the formats for people end with, for those that do not."""
    from tpulint.output.summary import hidden_lines, unfollowed_lines

    lines = hidden_lines(result.hidden, result.unset) if result.hidden else []
    return lines if style.statistics else [*lines, *unfollowed_lines(result.unfollowed)]


def context_of(result: CheckResult, style: Style) -> RenderContext:
    return RenderContext(
        os.getcwd(),
        result.sources,
        dict(result.hidden),
        style.fixed,
        style.for_people and style.color,
        quiet=style.quiet,
        incomplete=bool(result.failures),
        unparsed=result.unparsed,
        files=result.files,
        unset=result.unset,
        unfollowed=result.unfollowed,
    )
