"""The program as rules see it: computations, their clusters, what each lane touches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from tpulint.absint.domain.context import DATA
from tpulint.absint.domain.events import Access, ApiCall, Cluster, Computation, Context, Use
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.values import UNKNOWN, Value
from tpulint.finding import UnfollowedCall


@dataclass(eq=False)
class Feed:
    """An input pipeline that feeds a device.

    kind: what is fed, by the name of the call that feeds it. owner: the object that it is called
    on. data: what the device gets. function: the input function that gives it, if there is one.
    """

    kind: str
    site: Site
    context: Context
    owner: Value
    data: Value
    function: Value | None = None


K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def _grouped(rows: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Return for each key the items of its rows, in their order."""
    groups: defaultdict[K, list[T]] = defaultdict(list)
    for key, item in rows:
        groups[key].append(item)
    return dict(groups)


class ReadingFailure(NamedTuple):
    """An internal error that costs what was being read, and not the check."""

    reading: str
    error: str
    place: str

    def __str__(self) -> str:
        return f"internal error while reading {self.reading}: {self.error} ({self.place})"


@dataclass
class ProgramEvents:
    """The computations of a program, with all that happens in and around them.

    computations: those that an entry point builds. orphan_clusters: host clusters that are opened
    where no computation is being built. calls, uses, accesses: those outside every computation.
    operands: what operators outside every computation take of values of all replicas.
    modules: those that were read. feeds: the input pipelines of devices. unsure_feeds: those of
    devices of unknown kind.
    skipped: how many functions were reached and not followed, by the reason. unfollowed: the calls
    that were not followed although they may matter.
    failures: what could not be read, by an error of the analysis itself.
    answers: what several queries ask for once all is read, by what is asked.
    find_importers: gives `importers`.
    """

    computations: list[Computation] = field(default_factory=list)
    orphan_clusters: list[Cluster] = field(default_factory=list)
    calls: list[ApiCall] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    operands: list[Use] = field(default_factory=list)
    modules: list[Module] = field(default_factory=list)
    feeds: list[Feed] = field(default_factory=list)
    unsure_feeds: list[Feed] = field(default_factory=list)
    skipped: Mapping[str, int] = field(default_factory=dict)
    unfollowed: Sequence[UnfollowedCall] = ()
    failures: Sequence[ReadingFailure] = ()
    answers: dict[Hashable, Any] = field(default_factory=dict)
    find_importers: Callable[[], Mapping[str, Sequence[str]]] = dict

    @cached_property
    def importers(self) -> Mapping[str, Sequence[str]]:
        """The files that import a file, by paths, of those that were read and all they import."""
        return self.find_importers()

    @cached_property
    def piped(self) -> list[ApiCall]:
        """The calls in functions of input pipelines (few of many); for when all is read."""
        return [call for call in self.calls if call.context.is_inside(DATA)]

    @cached_property
    def piped_to(self) -> dict[int, list[ApiCall]]:
        """The calls of `piped` by the (id of the) feed whose pipeline they are in."""
        return _grouped(
            (feed, call)
            for call in self.piped
            for feed in {id(scope.payload) for scope in call.context.scopes if scope.kind == DATA}
        )

    @cached_property
    def piped_at(self) -> dict[Site, list[ApiCall]]:
        """The calls of `piped` by the sites of the scopes around them, each once a site."""
        return _grouped(
            (site, call)
            for call in self.piped
            for site in {scope.site for scope in call.context.scopes}
        )

    @cached_property
    def named(self) -> dict[str, list[ApiCall]]:
        """The calls outside every computation by the last name; for when all is read."""
        return _grouped((call.last, call) for call in self.calls)

    @cached_property
    def _numbered(self) -> dict[str, list[tuple[int, ApiCall]]]:
        """All calls by the last name, with their numbers."""
        numbered = enumerate(self.all_calls())
        return _grouped((call.last, (number, call)) for number, call in numbered)

    def all_named(self, names: Collection[str]) -> list[ApiCall]:
        """Return all calls with one of these last names, in order; for when all is read."""
        rows = chain.from_iterable(self._numbered.get(name, ()) for name in frozenset(names))
        return [call for _, call in sorted(rows)]

    def named_any(self, names: Collection[str]) -> list[ApiCall]:
        """Return those of `named` with one of these last names, in order."""
        return [call for call in self.all_named(names) if call.context.computation is None]

    @cached_property
    def at(self) -> dict[Site, list[ApiCall]]:
        """The calls outside every computation by where they stand; for when all is read."""
        return _grouped((call.site, call) for call in self.calls)

    @cached_property
    def by_result(self) -> dict[int, list[ApiCall]]:
        """All calls by the identity of what they gave, if it has one; for when all is read."""
        return _grouped(
            (id(call.result), call) for call in self.all_calls() if call.result is not UNKNOWN
        )

    def all_calls(self) -> Iterator[ApiCall]:
        """Return every call of something outside the project."""
        return chain(self.calls, *(computation.calls for computation in self.computations))

    def clusters(self) -> Iterator[Cluster]:
        """Return every host cluster, of all computations."""
        return chain(*(computation.clusters for computation in self.computations))
