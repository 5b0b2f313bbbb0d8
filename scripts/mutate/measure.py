"""Check the seeded programs, and say of each fault whether a finding names it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.mutate.draw import Mutant
from tpulint.check import driver
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.finding import Certainty, Finding

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Result:
    """The outcome for one mutant. certainty: None where nothing names the fault."""

    mutant: Mutant
    certainty: Certainty | None


class Checked:
    """The corpus as `tpulint check` sees it, with some files given instead of read."""

    def __init__(self, folder: Path, packages: Iterable[str], cache: Path) -> None:
        config = Config(root=str(folder), certainty=Certainty.POSSIBLE)
        paths = tuple(str(folder / package) for package in sorted(packages))
        request = driver.Request(config, frozenset(CODES), paths, cache=str(cache))
        self.folder = folder
        self.task = driver.discover(request)
        self.base = Counter(map(key_of, self.findings({})))

    def findings(self, contents: Mapping[str, bytes]) -> Sequence[Finding]:
        """Return the findings in the packages of the files given, or in all."""
        packages = set(map(self.package, contents))
        wanted = (
            filename for filename in self.task.filenames if self.package(filename) in packages
        )
        task = self.task.only(frozenset(wanted)) if contents else self.task
        return driver.check(task, contents).findings

    def package(self, filename: str) -> str:
        return Path(filename).relative_to(self.folder).parts[0]

    def results(self, batch: Sequence[Mutant]) -> list[Result]:
        """Return the outcome of mutants of different files, seeded together."""
        reported = self.findings({mutant.site.filename: mutant.text.encode() for mutant in batch})
        new = fresh(reported, self.base)
        return [Result(mutant, best(mutant, new)) for mutant in batch]


def fresh(findings: Sequence[Finding], base: Counter[Key]) -> list[Finding]:
    """Return the findings beyond those of the programs as they are; rows are left aside."""
    left = Counter(base)
    new = []
    for item in findings:
        if left[key_of(item)] > 0:
            left[key_of(item)] -= 1
        else:
            new.append(item)
    return new


def key_of(finding: Finding) -> Key:
    return (finding.span.filename, finding.code, finding.message)


def best(mutant: Mutant, new: Iterable[Finding]) -> Certainty | None:
    """Return how certain a finding names the fault: by its code, at one of its rows."""
    certainties = {finding.certainty for finding in new if names(finding, mutant)}
    for certainty in (Certainty.DEFINITE, Certainty.POSSIBLE):
        if certainty in certainties:
            return certainty
    return None


def names(finding: Finding, mutant: Mutant) -> bool:
    """Return whether the finding names the fault of the mutant.

    An inserted fault has rows of its own, which the finding or its trace must touch. A replaced
    one may be reported elsewhere (`minimize` instead of the optimizer): its code is enough.
    """
    if finding.code not in mutant.operator.codes:
        return False
    spans = [finding.span, *(step.span for step in finding.trace)]
    here = [span for span in spans if span.filename == mutant.site.filename]
    if not mutant.operator.insert:
        return bool(here)
    first, last = mutant.rows
    return any(first <= span.end.row and span.start.row <= last for span in here)
