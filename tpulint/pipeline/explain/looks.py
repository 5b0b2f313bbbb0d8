"""Record which rules look at which of some events while they run.

The events take a class that notes who reads their attributes; it is made for them alone, so
that a check, which asks for none of this, pays nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields
from functools import cached_property

from tpulint.analysis.domain.events import Computation
from tpulint.analysis.domain.program import Program
from tpulint.finding import Finding
from tpulint.pipeline.explain.events import Recorded, short
from tpulint.pipeline.rule_run import RuleResult

# Attributes that only say of which kind an event is, and where: a rule reads these of all.
KIND = frozenset(
    ["path", "last", "kind", "mode", "how", "taker", "site", "change", "effect", "context"]
)
# The lists of a computation: a rule that asks for calls goes through those of every computation.
LISTS = KIND | frozenset(each.name for each in fields(Computation) if each.type.startswith("list["))


class Looks:
    """The rules' findings in a program, the events that they read, and the rules that failed."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.failures: dict[str, str] = {}
        self._read: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)

    def run(
        self, program: Program, results: Iterable[RuleResult], events: Iterable[Recorded]
    ) -> None:
        """Take the results of the rules on `program`, each of which runs when it is taken."""
        for name, item in vars(Program).items():
            if isinstance(item, cached_property):  # else only the rule that asks first would look
                getattr(program, name)
        noted: dict[str, set[str]] = defaultdict(set)
        for event in events:
            if not isinstance(event, tuple):
                passed_over = LISTS if isinstance(event, Computation) else KIND
                _watch(event, noted[short(event)], passed_over)
        for each in results:
            self.findings += each.findings
            if each.failure is not None:
                self.failures[each.code] = each.failure.error
            for text, names in noted.items():
                if names:
                    self._read[each.code].setdefault(text, set()).update(names)
                    names.clear()

    def of(self, code: str) -> list[str]:
        """Return what the rule looked at, in words."""
        return [f"{text} ({', '.join(sorted(names))})" for text, names in self._read[code].items()]


def _watch(event: Recorded, noted: set[str], passed_over: frozenset[str]) -> None:
    """Let `event` note the names of its attributes that are read from now on, but some."""
    plain = type(event)

    def noting(self: object, name: str) -> object:
        if not name.startswith("_") and name not in passed_over:
            noted.add(name)
        return plain.__getattribute__(self, name)

    watched = type(plain.__name__, (plain,), {"__slots__": (), "__getattribute__": noting})
    object.__setattr__(event, "__class__", watched)
