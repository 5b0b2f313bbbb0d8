"""Names that a release of TensorFlow lacks (TPU801 and TPU802).

What replaces them, the messages and fixes, and a finding per requirement.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from typing import NamedTuple

from tpulint.finding import HOST_LANE, Applicability, Certainty, Edit, Fix, Location, Span, Step
from tpulint.frontends.tensorflow.knowledge import names, naming
from tpulint.frontends.tensorflow.knowledge.names import methods, renamed
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.spelling_search import Spelled, having_of, is_missing
from tpulint.frontends.tensorflow.target_release import Requirement
from tpulint.queries.certainty import definite_if
from tpulint.syntax.api_spellings import ATTRIBUTE, IMPORT, METHOD

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
        path = spelled.name.paths[0]
        # One missing module would else be reported at each use of its alias: where the alias itself
        # stands for what is missing, its import is the fault.
        if spelled.name.place == ATTRIBUTE and all(
            is_missing(having_of(base), spelled.target)
            for base in spelled.aliases.get(spelled.name.root, ())
        ):
            continue
        if path.startswith(BESIDE):
            continue
        now, same = successor(spelled) or ("", False)
        # The file is TensorFlow 2's, in a project that requires TensorFlow 1: projects with both
        # have one requirement at their top, and run such files with another release.
        second, target = names.generation(2), spelled.target
        is_second = spelled.having != 0 and spelled.having & ~second == 0
        if not now and is_second and not target.configured and not target.mask & second:
            continue
        module = next((prefix for prefix in names.NEVER if path.startswith(prefix)), None)
        # One finding per file and missing module: the rest says the same.
        if module is not None and not now:
            if (spelled.span.filename, module) in reported:
                continue
            reported.add((spelled.span.filename, module))
        yield Absent(spelled, _certainty(spelled), _is_gone(spelled), now, same)


def _certainty(spelled: Spelled) -> Certainty:
    """Definite where no release that the file is for has the name, and nothing says otherwise."""
    name = spelled.name
    fails = spelled.having & spelled.target.mask == 0 and not name.tried
    if not spelled.having and any(path.startswith(LOOSE) for path in name.paths):
        # Older releases than the table's had more there, and a source tree has.
        fails = fails and meant_class(spelled) != ""
    # A method is looked up by its name alone, so its object has to look like a strategy.
    if name.place == METHOD:
        fails = fails and naming.STRATEGY.is_in(name.receiver)
    if spelled.having and name.inside and spelled.asks:
        fails = False  # its caller may have asked for the version
    if spelled.having and not spelled.target.configured:
        # Where no release of the major version that the project requires has the name, the file was
        # written for the other one, and may be run with it after all.
        required = names.generation(1 if spelled.target.newest & names.generation(1) else 2)
        is_of_required = bool(spelled.having & required) and _is_gone(spelled)
        fails = fails and (spelled.excludes or is_of_required)
    return definite_if(fails)


# What other releases have beside these classes is called otherwise.
OF_CONTRIB = "tensorflow.contrib.tpu"
NEAR = 0.93


def meant_class(spelled: Spelled) -> str:
    """Return the class of `contrib.tpu` of which this is another spelling, "" if of none."""
    module, _, name = spelled.name.paths[0].rpartition(".")
    is_of_contrib = f"{module}.".startswith((f"{OF_CONTRIB}.python.", f"{OF_CONTRIB}."))
    if spelled.having or not is_of_contrib or len(spelled.name.paths) > 1:
        return ""
    classes = {other.casefold(): other for other in names.members(OF_CONTRIB) if other[0].isupper()}
    near = difflib.get_close_matches(name.casefold(), classes, 1, NEAR) if name[0].isupper() else []
    return classes[near[0]] if near else ""


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
        releases = names.having(f"{method.on}.{method.new}") & lost
        return (method.new, True) if releases else None
    return renamed(spelled.name.paths[0], lost)


# The words and the edits for a name of TensorFlow's API that has moved.


def shown(spelled: Spelled) -> str:
    """Return the name as the file writes it; what it stands for, where that is an import."""
    is_as_written = spelled.name.place not in (METHOD, IMPORT)
    return spelled.name.written if is_as_written else spelled.name.paths[0]


def advice(absent: Absent) -> str:
    """Return the end of the message: what to use instead, or where the name is."""
    if not absent.now:
        if meant := meant_class(absent.spelled):
            return f"; did you mean `{meant}`?"
        if not absent.spelled.having:
            return "; check its spelling" + _meaning_of_alias(absent.spelled)
        return f"; {newest(absent.spelled.having)} still has it" if absent.gone else ""
    if absent.spelled.name.place == METHOD:
        return f": use `{absent.now}`"
    releases = having_of(absent.now) & absent.spelled.target.mask
    lasting = releases & absent.spelled.target.newest
    until = "" if lasting else f", which exists up to TensorFlow {newest(releases)}"
    return f": use `{written(absent.spelled, absent.now) or absent.now}`{until}"


def _meaning_of_alias(spelled: Spelled) -> str:
    """Return what the first word of the name stands for, where that is not plain `tensorflow`.

    `tf.contrib.layers` looks right, but fails where `tf` is `tensorflow.compat.v1`.
    """
    bases = spelled.aliases.get(spelled.name.root, ())
    if len(bases) != 1 or "." not in bases[0] or not having_of(bases[0]):
        return ""
    existing, missing = bases[0], ""
    for missing in spelled.name.paths[0][len(existing) + 1 :].split("."):
        if not having_of(f"{existing}.{missing}"):
            break
        existing += f".{missing}"
    whose = "which" if existing == bases[0] else f"and `{existing}`"
    return f": `{spelled.name.root}` is `{bases[0]}`, {whose} has no `{missing}`"


def rename(absent: Absent, program: Program) -> Fix | None:
    """Return the fix that writes the successor, where there is one that the file can name."""
    spelled, now, name = absent.spelled, absent.now, absent.spelled.name
    start, end = spelled.span.start, spelled.span.end
    if not now:
        return None
    if name.place == METHOD:
        word = name.paths[0]
        if not name.written.endswith(word):
            return None
        edit = Edit(Location(end.row, end.column - len(word)), end, now)
        return Fix(Applicability.SAFE, f"call `{now}`", (edit,))
    if len(name.paths) > 1:
        return None
    text = _import(spelled, now, program) if name.place == IMPORT else written(spelled, now)
    if text is None:
        return None
    sort = Applicability.SAFE if absent.same else Applicability.UNSAFE
    return Fix(sort, f"write `{text}`", (Edit(start, end, text),))


def written(spelled: Spelled, dotted: str) -> str | None:
    """Return the dotted name as this file would write it; None where no import leads there."""
    best: tuple[bool, int, str] | None = None
    for alias, paths in spelled.aliases.items():
        if len(paths) == 1 and dotted.startswith(paths[0] + "."):
            text = alias + dotted[len(paths[0]) :]
            rank = (alias == spelled.name.root, -len(text), text)
            best = rank if best is None else max(best, rank)
    return best[2] if best is not None else None


def _import(spelled: Spelled, now: str, program: Program) -> str | None:
    """Return the import of the new name; of a module only if all its names moved together."""
    name = spelled.name
    if ".estimator" in now or not name.written.startswith("from "):
        return None  # tf.estimator is loaded lazily: nothing can be imported from inside it
    for other in program.spelled:
        is_used = other.span.filename == spelled.span.filename and other.name.root == name.root
        if is_used and other is not spelled:
            moved, _ = successor(other) or ("", False)
            if moved.rpartition(".")[0] != now:
                return None
    base, _, last = now.rpartition(".")
    asname = f" as {name.root}" if name.root != last else ""
    return f"from {base} import {last}{asname}"


# The names that a requirement's TensorFlow lacks, taken together: one finding per requirement.

SHOWN = 3  # places


class Broken(NamedTuple):
    """A requirement that asks for a release without names that are used, and the first of these."""

    span: Span
    message: str
    trace: tuple[Step, ...]


def grouped(program: Program, *, gone: bool) -> tuple[list[Broken], list[Absent]]:
    """Return the requirements that are reported, and the names that are at their own places.

    A requirement of one release answers for many names only: a few are the code's fault.
    gone: earlier releases have the names; else only later ones.
    """
    broken: list[Broken] = []
    single: list[Absent] = []
    groups: dict[tuple[str, Requirement], list[Absent]] = {}
    for name in absent(program):
        target = name.spelled.target
        is_possible = name.certainty is Certainty.POSSIBLE
        if name.gone is not gone:
            continue
        if is_possible and target.requirement and name.spelled.having:
            groups.setdefault((target.required_in, target.requirement), []).append(name)
        else:
            single.append(name)
    for (_, requirement), absent_names in groups.items():
        if requirement.is_open or len(absent_names) > SHOWN:
            spelled = sorted((it.spelled for it in absent_names), key=_by_release)
            broken.append(_broken(spelled, requirement, gone))
        else:
            single += absent_names
    return broken, single


def _by_release(spelled: Spelled) -> tuple[int, Span]:
    return _fails_from(spelled), spelled.span


def _broken(spelled: list[Spelled], requirement: Requirement, gone: bool) -> Broken:
    """Return the releases of a requirement, how many names they lack, and the first places."""
    first: dict[str, Spelled] = {}
    for it in spelled:
        first.setdefault(it.name.paths[0], it)
    number, places = len(first), list(first.values())[:SHOWN]
    target, is_open = spelled[0].target, requirement.is_open
    count = f"{number} names" if number > 1 else "a name"
    exist = f"no longer {'exist' if number > 1 else 'exists'}"
    if is_open and gone:
        first_release = names.releases()[_fails_from(spelled[0])]
        what = (
            f"allows TensorFlow {first_release} to {newest(target.mask)}, where {count} used here"
            f" {exist}"
        )
    else:
        not_yet = f"{'do' if number > 1 else 'does'} not exist yet"
        what = f"asks for a TensorFlow in which {count} used here {exist if gone else not_yet}"
    folder = os.path.dirname(target.required_in)
    listed = ", ".join(f"`{shown(it)}` ({_place(it, folder)})" for it in places)
    rest = f", and {number - SHOWN} more" if number > SHOWN else ""
    # The file is named as those that are checked.
    absolute = os.path.isabs(spelled[0].span.filename)
    path = target.required_in if absolute else os.path.relpath(target.required_in)
    return Broken(
        Span(path, requirement.start, requirement.end),
        f"`{requirement.text}` {what}: {listed}{rest}; list them with `--target-tensorflow`",
        tuple(
            Step(HOST_LANE, it.span, f"`{shown(it)}` {_missing(it, gone, is_open)}")
            for it in places
        ),
    )


def _missing(spelled: Spelled, gone: bool, is_open: bool) -> str:
    if not gone:
        return f"comes with TensorFlow {first_with(spelled)}"
    since = names.releases()[_fails_from(spelled)] if is_open else first_without(spelled)
    return f"no longer exists in TensorFlow {since}"


def _fails_from(spelled: Spelled) -> int:
    """Return the index of the first allowed release that came after the name did and lacks it."""
    since = (spelled.having & -spelled.having) - 1
    lacking = spelled.target.mask & ~spelled.having & ~since
    return (lacking & -lacking).bit_length() - 1


def _place(spelled: Spelled, folder: str) -> str:
    """Return the file as seen from the requirement's folder, with the row where it helps."""
    path = os.path.relpath(os.path.abspath(spelled.span.filename), folder)
    return path if path.endswith(".ipynb") else f"{path}:{spelled.span.start.row}"
