"""Names of TensorFlow's API that the target lacks, and their successors (TPU801 and TPU802)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.knowledge import names, naming
from tpulint.frontends.tensorflow.knowledge.names import methods, renamed
from tpulint.frontends.tensorflow.names.spelling_search import Spelled, having_of, is_missing
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import definite_if
from tpulint.syntax.api_spellings import ATTRIBUTE, METHOD

LOOSE = ("tensorflow.contrib", "tensorflow.python")
# Modules that are in the wheel beside the public API, whose names the table holds.
BESIDE = (
    "tensorflow.distribute.experimental.rpc.kernels",
    "tensorflow.distribute.experimental.rpc.proto",
)


class Absent(NamedTuple):
    """A name that fails: `gone` where earlier releases have it.

    now: its successor on the target, or "". same: the successor is the same code.
    """

    spelled: Spelled
    certainty: Certainty
    gone: bool
    now: str
    same: bool


def absent(program: Program) -> Iterator[Absent]:
    """Yield the names that fail, each where Python would raise first.

    Where a module has another one in no release, and nothing is known of what took its place,
    the first name in a file is enough.
    """
    reported: set[tuple[str, str]] = set()
    for spelled in sorted(program.spelled, key=lambda spelled: spelled.span):
        # One missing module would else be reported at each use of its alias.
        if spelled.name.place == ATTRIBUTE and _fails_at_import(spelled):
            continue
        if spelled.name.paths[0].startswith(BESIDE):
            continue
        now, same = successor(spelled) or ("", False)
        if not now and _is_for_the_next_generation(spelled):
            continue
        module = next(
            (prefix for prefix in names.NEVER if spelled.name.paths[0].startswith(prefix)), None
        )
        # One finding per file and missing module: the rest says the same.
        if module is not None and not now:
            if (spelled.span.filename, module) in reported:
                continue
            reported.add((spelled.span.filename, module))
        yield Absent(spelled, _certainty(spelled), _is_gone(spelled), now, same)


def _fails_at_import(spelled: Spelled) -> bool:
    """Return whether the alias itself stands for what is missing: then its import is the fault."""
    bases = spelled.aliases.get(spelled.name.root, ())
    return all(is_missing(having_of(base), spelled.target) for base in bases)


def _is_for_the_next_generation(spelled: Spelled) -> bool:
    """Return whether the file is TensorFlow 2's, in a project that requires TensorFlow 1.

    Projects with both have one requirement at their top, and run such files with another release.
    """
    second = names.generation(2)
    is_second = spelled.having != 0 and spelled.having & ~second == 0
    return is_second and not spelled.target.configured and not spelled.target.mask & second


def _certainty(spelled: Spelled) -> Certainty:
    """Definite where no release that the file is for has the name, and nothing says otherwise."""
    name = spelled.name
    fails = spelled.having & spelled.target.mask == 0
    if not spelled.having and any(path.startswith(LOOSE) for path in name.paths):
        fails = False  # older releases than the table's had more there, and a source tree has
    # A method is looked up by its name alone, so its object has to look like a strategy.
    if name.place == METHOD:
        fails = fails and naming.STRATEGY.is_in(name.receiver)
    if spelled.having and name.inside and spelled.asks:
        fails = False  # its caller may have asked for the version
    if spelled.having and not spelled.target.configured:
        fails = fails and _is_of_its_generation(spelled)
    return definite_if(fails)


def _is_of_its_generation(spelled: Spelled) -> bool:
    """Return whether some release of the major version that the project requires has the name.

    Else the file was written for the other one, and may be run with it after all.
    """
    required = names.generation(1 if spelled.target.newest & names.generation(1) else 2)
    return bool(spelled.having & required) and _is_gone(spelled)


def _is_gone(spelled: Spelled) -> bool:
    """Return whether the last release with the name is older than the newest that is used."""
    return 0 < spelled.having < spelled.target.newest


def first_without(spelled: Spelled) -> str:
    """Return the first release in the table after the last that has the name."""
    return names.releases()[spelled.having.bit_length()]


def first_with(spelled: Spelled) -> str:
    """Return the first release in the table that has the name."""
    return names.releases()[(spelled.having & -spelled.having).bit_length() - 1]


def newest(mask: int) -> str:
    """Return the last release of a mask."""
    return names.releases()[mask.bit_length() - 1]


def successor(spelled: Spelled) -> tuple[str, bool] | None:
    """Return the name's successor on the target, and whether it is the same code."""
    lost = spelled.target.mask & ~spelled.having
    if spelled.name.place == METHOD:
        method = methods()[spelled.name.paths[0]]
        there = names.having(f"{method.on}.{method.new}") & lost
        return (method.new, True) if there else None
    return renamed(spelled.name.paths[0], lost)
