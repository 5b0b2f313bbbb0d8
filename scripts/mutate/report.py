"""docs/recall.md: the outcome of a run of mutants as tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from scripts.mutate.measure import Result
from tpulint.finding import Certainty

INTRODUCTION = """\
# Recall on seeded faults

`make mutate` measures how many seeded faults `tpulint check` finds. Each mutant is a file of the
pinned corpus with one fault, at a site that CPython's `ast` finds: a statement that creates a
`TPUEstimatorSpec`, the function passed to a `strategy.run`, an optimizer, a batch. The analyzer
does not choose the sites. Tests are excluded, and so are changes that no TPU refuses: batches for
prediction, which TPUEstimator pads, and scalars if every core gets the same input. A fault counts
as found if a finding has its code and its place. *Always* marks the faults that every run on the
TPU path reaches; these should be definite.

It then seeds faults into 40 public repositories and prints the counts of each rule: there TPU604
and TPU605 are seeded at every optimizer and every batch, also where no TPU program reaches them.
"""
FOUND = "| | mutants | found | definite | definite share of found |\n|---|---|---|---|---|"


def report(results: Sequence[Result], causes: Mapping[str, int]) -> str:
    """Return the page."""
    always = [result for result in results if result.mutant.always]
    whole = [row("all", results), row("always", always)]
    parts = [
        INTRODUCTION,
        "\n".join([FOUND, *whole]) + "\n",
        section("By operator", results, lambda result: operator_of(result)),
        section("By site", results, lambda result: f"`{result.mutant.site.kind}`"),
        missed(causes),
    ]
    return "\n".join(parts)


# The table of scripts/unknowns.py, which a new page keeps.
REASONS, END_OF_REASONS = (
    "<!-- reasons: written by scripts/unknowns.py -->",
    "<!-- end of reasons -->",
)


def with_reasons(page: str, table: str) -> str:
    """Return the page with this table of reasons at its end, for the one that it may have."""
    before = page.partition(f"\n{REASONS}")[0]
    return f"{before}\n{REASONS}\n\n{table}\n{END_OF_REASONS}\n"


def reasons_in(page: str) -> str:
    """Return the table of reasons of a page."""
    return page.partition(REASONS)[2].partition(END_OF_REASONS)[0].strip("\n") + "\n"


def operator_of(result: Result) -> str:
    operator = result.mutant.operator
    return f"{operator.codes[0]} {operator.name}" + ("" if result.mutant.always else " (sometimes)")


def section(title: str, results: Iterable[Result], group: Callable[[Result], str]) -> str:
    """Return a table with a row for each group."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[group(result)].append(result)
    rows = [row(name, groups[name]) for name in sorted(groups)]
    return "\n".join([f"## {title}", "", FOUND, *rows]) + "\n"


def row(name: str, results: Sequence[Result]) -> str:
    """Return the counts of some results."""
    counts = Counter(result.certainty for result in results)
    definite = counts[Certainty.DEFINITE]
    reported = definite + counts[Certainty.POSSIBLE]
    return (
        f"| {name} | {len(results)} | {reported} ({percent(reported, len(results))}) "
        f"| {definite} ({percent(definite, len(results))}) | {percent(definite, reported)} |"
    )


def missed(causes: Mapping[str, int]) -> str:
    """Return the table of causes of the misses."""
    rows = [f"| {cause} | {count} |" for cause, count in sorted(causes.items())]
    return "\n".join(["## Misses by cause", "", "| cause | mutants |", "|---|---|", *rows]) + "\n"


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"
