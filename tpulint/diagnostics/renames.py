"""The words and the edits for a name of TensorFlow's API that has moved."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.analysis.names.api_names import having_of
from tpulint.analysis.names.spelling_search import Spelled
from tpulint.finding import Applicability, Edit, Fix, Location
from tpulint.queries.absent_names import Absent, newest, successor
from tpulint.syntax.api_spellings import IMPORT, METHOD


def shown(spelled: Spelled) -> str:
    """Return the name as the file writes it; what it stands for, where that is an import."""
    if spelled.name.place == METHOD:
        return spelled.name.paths[0]
    return spelled.name.paths[0] if spelled.name.place == IMPORT else spelled.name.written


def advice(absent: Absent) -> str:
    """Return the end of the message: what to use instead."""
    if not absent.now:
        return ""
    if absent.spelled.name.place == METHOD:
        return f": use `{absent.now}`"
    there = having_of(absent.now) & absent.spelled.target.mask
    lasting = there & absent.spelled.target.newest
    until = "" if lasting else f", which exists up to TensorFlow {newest(there)}"
    return f": use `{written(absent.spelled, absent.now) or absent.now}`{until}"


def rename(absent: Absent, program: Program) -> Fix | None:
    """Return the fix that writes the successor, where there is one that the file can name."""
    spelled, now, name = absent.spelled, absent.now, absent.spelled.name
    if not now:
        return None
    if name.place == METHOD:
        edit = _last_word(spelled, now)
        return Fix(Applicability.SAFE, f"call `{now}`", (edit,)) if edit else None
    if len(name.paths) > 1:
        return None
    text = _import(spelled, now, program) if name.place == IMPORT else written(spelled, now)
    if text is None:
        return None
    sort = Applicability.SAFE if absent.same else Applicability.UNSAFE
    return Fix(sort, f"write `{text}`", (Edit(spelled.span.start, spelled.span.end, text),))


def _last_word(spelled: Spelled, now: str) -> Edit | None:
    end = spelled.span.end
    word = spelled.name.paths[0]
    if not spelled.name.written.endswith(word):
        return None
    return Edit(Location(end.row, end.column - len(word)), end, now)


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
    used = [
        each
        for each in program.spelled
        if each.span.filename == spelled.span.filename and each.name.root == name.root
    ]
    for each in used:
        moved, _ = successor(each) or ("", False)
        if each is not spelled and moved.rpartition(".")[0] != now:
            return None
    base, _, last = now.rpartition(".")
    asname = f" as {name.root}" if name.root != last else ""
    return f"from {base} import {last}{asname}"
