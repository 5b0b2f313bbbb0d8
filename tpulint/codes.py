"""The one map from codes to rules.

A code is stable once shipped: suppressions, baselines, configurations and the
runtime's errors carry it. A rule is in the file that its code and name spell, in the directory of
its family: `tpulint/rules/clusters/tpu201_nested_outside_compilation.py`, its page beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tpulint.finding import Applicability, Severity


class Family(NamedTuple):
    """The rules whose codes begin alike: their directory in tpulint/rules, and their title."""

    directory: str
    title: str


# By the beginning of the codes. Those of the tool itself have only pages.
FAMILIES = {
    "TPU0": Family("", "The tool itself"),
    "TPU1": Family("variables", "Variables: deadlocks and lost updates"),
    "TPU2": Family("clusters", "Host clusters: nesting and scope"),
    "TPU3": Family("control_flow", "Control flow"),
    "TPU4": Family("replicate", "The replicate family: arguments and outputs"),
    "TPU5": Family("device_code", "Operations, dtypes and shapes on the device"),
    "TPU6": Family("estimator", "TPUEstimator and input pipelines"),
    "TPU7": Family("strategy", "TPUStrategy"),
    "TPU8": Family("names", "The API itself"),
    "TPU9": Family("cost", "Cost: wasted time and memory of the TPU"),
}


class Code(NamedTuple):
    """`code` as users write it, `name` in kebab case, `summary` one line without a full stop.

    `fixes` are the kinds of fix that its findings can come with. `plugin` is what adds the rule to
    tpulint, with its version, and `link` the address of the page that it may have on the web.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    fixes: tuple[Applicability, ...] = ()
    plugin: str = ""
    link: str = ""

    @property
    def path(self) -> str:
        """The path of the rule's module and of its page, in tpulint/rules and without a suffix."""
        stem = f"{self.code.lower()}_{self.name.replace('-', '_')}"
        return f"{FAMILIES[self.code[:4]].directory}/{stem}".lstrip("/")

    @property
    def url(self) -> str:
        """The rule's page on the web; "" where that of a plug-in has none."""
        return self.link if self.plugin else f"{PAGES}/{self.path}.md"


HOME = "https://github.com/tpulint/tpulint"
PAGES = f"{HOME}/blob/main/tpulint/rules"
SHAPE = r"[A-Z]{3}\d{3}"
TABLE = os.path.join(os.path.dirname(__file__), "codes.tsv")


def _read(table: str) -> Iterator[Code]:
    """Yield the rows of a table; `scripts/codes.py` writes it from the rules' classes."""
    with open(table, encoding="utf-8") as lines:
        for line in lines:
            code, name, severity, fixes, summary = line.rstrip("\n").split("\t")
            kinds = tuple(map(Applicability, fixes.split()))
            yield Code(code, name, Severity(severity), summary, kinds)


_UNUSED = "a suppression comment that suppresses nothing"
# Reported by the tool itself, without a rule.
OF_THE_TOOL = (
    Code("TPU001", "syntax-error", Severity.ERROR, "a file that cannot be parsed"),
    Code("TPU002", "unused-suppression", Severity.WARNING, _UNUSED, (Applicability.SAFE,)),
)
RULES: dict[str, Code] = {row.code: row for row in _read(TABLE)}
CODES: dict[str, Code] = {row.code: row for row in OF_THE_TOOL} | RULES
NAMES: dict[str, str] = {row.name: row.code for row in CODES.values()}
OWN = dict(CODES)  # without those of plug-ins
# The rules about names alone: no program has to be read for them.
OF_NAMES = frozenset(code for code in CODES if code.startswith("TPU8"))


def codes_of(selector: str) -> frozenset[str]:
    """Return the codes that `selector` means: ALL, a code, a prefix of codes, or a rule's name."""
    if (named := NAMES.get(selector.lower())) is not None:
        return frozenset((named,))
    start = "" if selector.upper() == "ALL" else selector.upper()
    return frozenset(code for code in CODES if code.startswith(start)) if selector else frozenset()


def performance_codes() -> frozenset[str]:
    """Return the codes of the rules that are off unless they are asked for."""
    return frozenset(code for code, row in CODES.items() if row.severity is Severity.PERFORMANCE)


def codes_by_default() -> frozenset[str]:
    """Return the codes that a check reports if nothing is selected."""
    return frozenset(CODES) - performance_codes()


def codes_selected_by(selector: str) -> frozenset[str]:
    """Return the codes that `selector` selects.

    `ALL` and what all codes of a package begin with name no family of rules, so they do not turn
    on those about performance.
    """
    codes = codes_of(selector)
    names_family = any(map(str.isdigit, selector)) or "-" in selector
    return codes if names_family else codes - performance_codes()


def use(rows: Iterable[Code]) -> None:
    """Add the rules of plug-ins, in the place of those that were added before."""
    # Other modules hold these dicts by name, so they are changed and not replaced.
    for row in [row for row in CODES.values() if row.plugin]:
        del CODES[row.code], RULES[row.code], NAMES[row.name]
    for row in rows:
        CODES[row.code] = RULES[row.code] = row
        NAMES[row.name] = row.code
