"""Draw the mutants of a run: the same for the same corpus, spread over files and operators."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.mutate.operators import OPERATORS, Operator
from scripts.mutate.seed import seeded
from scripts.mutate.sites import Site, sites_of

BATCH = "drop remainder"
# The files and folders of tests, and what only they use.
TESTS = re.compile(r"(^|/)(test_[^/]*|[^/]*_test(_[^/]*)?\.py|tests?|testing)(/|$)")
ESTIMATOR = re.compile(r"\bTPUEstimator\((?:[^()]|\([^()]*\))*\)")


@dataclass(frozen=True)
class Mutant:
    """A file with one fault. rows: the first and the last 1-based row that the fault takes."""

    site: Site
    operator: Operator
    text: str
    rows: tuple[int, int]

    @property
    def always(self) -> bool:
        """True where every run that reaches the TPU path meets the fault."""
        return self.site.kind not in self.operator.sometimes


def sites_under(folder: Path, *, whole: bool = False) -> tuple[dict[str, str], list[Site]]:
    """Return the texts of the files that hold sites, and the sites.

    Tests are no programs, and a package whose every TPUEstimator says `use_tpu=False` has none.
    Where no file of a folder speaks of a TPUEstimator, the `params` of a pipeline are not its.
    whole: every batch that drops its remainder is a site, and every package has sites.
    """
    texts: dict[str, str] = {}
    sites: list[Site] = []
    for path in sorted(folder.rglob("*.py")):
        if TESTS.search(path.relative_to(folder).as_posix()):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        of_file = sites_of(str(path), text, whole=whole)
        if not whole and of_file and not speaks_of_estimators(path.parent):
            of_file = [site for site in of_file if site.kind != BATCH]
        if of_file:
            texts[str(path)] = text
            sites += of_file
    if not whole and never_on_tpu(folder):
        return {}, []
    return texts, sites


@cache
def speaks_of_estimators(folder: Path) -> bool:
    """Return whether a file of the folder speaks of a TPUEstimator."""
    return any(b"TPUEstimator" in path.read_bytes() for path in folder.glob("*.py"))


def never_on_tpu(folder: Path) -> bool:
    """Return whether each TPUEstimator that is made under the folder is for a CPU or GPU."""
    output = [
        "use_tpu=False" in match
        for path in folder.rglob("*.py")
        for match in ESTIMATOR.findall(path.read_text(encoding="utf-8", errors="replace"))
    ]
    return bool(output) and all(output)


def drawn(
    texts: dict[str, str],
    sites: Iterable[Site],
    per_operator: int,
    a_file: int,
    unbounded: Collection[str] = (),
) -> list[Mutant]:
    """Return at most `per_operator` mutants of an operator, and at most `a_file` of one file.

    unbounded: the codes of operators that seed a fault at every site.
    """
    pairs = [
        (site, operator) for site in sites for operator in OPERATORS if site.kind in operator.kinds
    ]
    by_operator: Counter[str] = Counter()
    by_file: Counter[str] = Counter()
    chosen = []
    # Operators with few sites first: their places are not taken by the others.
    rare = Counter(operator.name for _, operator in pairs)
    for site, operator in sorted(pairs, key=lambda pair: (rare[pair[1].name], lot(*pair))):
        is_bounded = not set(operator.codes) & set(unbounded)
        if is_bounded and (
            by_operator[operator.name] >= per_operator or by_file[site.filename] >= a_file
        ):
            continue
        text = seeded(texts[site.filename], site, operator)
        if text is None:
            continue
        by_operator[operator.name] += 1
        by_file[site.filename] += is_bounded
        more = text.count("\n") - texts[site.filename].count("\n")
        last = site.node.end_lineno or site.row
        rows = (site.row, site.row + more if operator.insert else last + more)
        chosen.append(Mutant(site, operator, text, rows))
    return chosen


def batches(
    mutants: Iterable[Mutant], group: Callable[[str], str] = lambda filename: filename
) -> list[list[Mutant]]:
    """Return the mutants in batches that hold no file twice, or no `group` of a file's."""
    by_file: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        by_file[group(mutant.site.filename)].append(mutant)
    longest = max(map(len, by_file.values()), default=0)
    return [
        [several[index] for several in by_file.values() if index < len(several)]
        for index in range(longest)
    ]


def lot(site: Site, operator: Operator) -> str:
    """Return the lot of a pair: it does not depend on where the corpus lies."""
    name = "/".join(Path(site.filename).parts[-3:])
    words = f"{name}:{site.row}:{operator.name}"
    return hashlib.sha256(words.encode()).hexdigest()
