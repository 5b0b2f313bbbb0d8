"""The names that an open requirement lets go, taken together: one finding a requirement."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tpulint.analysis.names.api_names import Spelled
from tpulint.diagnostics.renames import shown
from tpulint.finding import HOST_LANE, Certainty, Span, Step
from tpulint.knowledge import names
from tpulint.queries.absent_names import Absent, newest

SHOWN = 3  # places


class Broken(NamedTuple):
    """The spellings that one requirement leaves unguarded, those that fail first in front."""

    spelled: tuple[Spelled, ...]

    @property
    def first_release(self) -> str:
        """The first release that is allowed and lacks one of the names."""
        return names.releases()[_fails_from(self.spelled[0])]

    @property
    def span(self) -> Span:
        """The requirement, its file named as those that are checked."""
        target = self.spelled[0].target
        assert target.requirement is not None
        absolute = os.path.isabs(self.spelled[0].span.filename)
        path = target.required_in if absolute else os.path.relpath(target.required_in)
        return Span(path, target.requirement.start, target.requirement.end)

    @property
    def message(self) -> str:
        """The sentence that names the release, how many names, and the first places."""
        target = self.spelled[0].target
        assert target.requirement is not None
        written = {each.name.paths[0] for each in self.spelled}
        count = f"{len(written)} names" if len(written) > 1 else "a name"
        folder = os.path.dirname(target.required_in)
        places = ", ".join(f"`{shown(each)}` ({_place(each, folder)})" for each in self._first())
        rest = f", and {len(self.spelled) - SHOWN} more" if len(self.spelled) > SHOWN else ""
        return (
            f"`{target.requirement.text}` allows TensorFlow {self.first_release} to"
            f" {newest(target.mask)}, where {count} used here no longer {_exist(written)}:"
            f" {places}{rest}; `--target-tensorflow` lists each"
        )

    @property
    def trace(self) -> tuple[Step, ...]:
        """The first places."""
        return tuple(
            Step(
                HOST_LANE,
                each.span,
                f"`{shown(each)}` no longer exists in TensorFlow {_lost_in(each)}",
            )
            for each in self._first()
        )

    def _first(self) -> tuple[Spelled, ...]:
        return self.spelled[:SHOWN]


def is_grouped(absent: Absent) -> bool:
    """Return whether the name is one of those for which its requirement answers."""
    requirement = absent.spelled.target.requirement
    return (
        absent.certainty is Certainty.POSSIBLE and requirement is not None and requirement.is_open
    )


def by_requirement(found: Iterable[Absent]) -> Iterator[Broken]:
    """The names that fail, by the requirement that allows the release which lacks them."""
    groups: dict[tuple[str, object], list[Spelled]] = {}
    for each in found:
        target = each.spelled.target
        groups.setdefault((target.required_in, target.requirement), []).append(each.spelled)
    for spelled in groups.values():
        yield Broken(tuple(sorted(spelled, key=lambda each: (_fails_from(each), each.span))))


def _fails_from(spelled: Spelled) -> int:
    """The index of the first release that is allowed, came after the name did, and lacks it."""
    since = (spelled.having & -spelled.having) - 1
    lacking = spelled.target.mask & ~spelled.having & ~since
    return (lacking & -lacking).bit_length() - 1


def _lost_in(spelled: Spelled) -> str:
    return names.releases()[_fails_from(spelled)]


def _place(spelled: Spelled, folder: str) -> str:
    """The file as seen from the requirement's folder, with the row where that says something."""
    path = os.path.relpath(os.path.abspath(spelled.span.filename), folder)
    return path if path.endswith(".ipynb") else f"{path}:{spelled.span.start.row}"


def _exist(written: set[str]) -> str:
    return "exist" if len(written) > 1 else "exists"
