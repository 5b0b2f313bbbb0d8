"""The summary of one text, or the reason why it has none."""

from __future__ import annotations

from typing import TypeAlias

from tpulint.syntax import ir
from tpulint.syntax.deep_stack import deeply

Problem = tuple[str, int, int]  # why there is no summary, with row and column
Answer: TypeAlias = "ir.ModuleSummary | Problem"


def summarize(text: str) -> Answer:
    """The summary of `text` with everything in it, or why there is none."""
    from tpulint.syntax.lower import lower
    from tpulint.syntax.parse import SyntaxProblem, parse

    try:
        return deeply(lambda: lower(parse(text)))
    except SyntaxProblem as problem:
        return (problem.reason, problem.row, problem.column)


def summarize_here(text: str) -> Answer:
    """The summary of `text`, its large bodies left for later, or why there is none."""
    from tpulint.syntax import lazy_parse
    from tpulint.syntax.parse import SyntaxProblem

    try:
        return deeply(lambda: lazy_parse.summarize(text))
    except SyntaxProblem as problem:
        return (problem.reason, problem.row, problem.column)
