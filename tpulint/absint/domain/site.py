"""Modules of the project, the places in them, and the calls that lead to a place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, takewhile
from typing import Any, NamedTuple, Protocol, TypeVar

from tpulint.finding import Span
from tpulint.syntax import ir
from tpulint.syntax.ir import PIECE
from tpulint.syntax.nodes import Constant, Node, walk

N = TypeVar("N", bound=Node)


class WordPattern(Hashable, Protocol):
    """A pattern of words, as far as a module is concerned."""

    def is_in(self, word: str, /) -> bool: ...


class Module:
    """`filename` as the run names it; `sites` by place, as they were asked for."""

    def __init__(self, filename: str, path: str, text: str, facts: ir.ModuleSummary) -> None:
        self.filename = filename
        self.path = path
        self.text = text
        self.facts = facts
        self.reported = True
        self.sites: dict[int, Site] = {}
        self._nodes_at: dict[tuple[int, type[Node]], Any] = {}
        self._answers: dict[Callable[[bytes], bool], bool] = {}
        self._words: dict[WordPattern, bool] = {}
        self._written: dict[frozenset[str], frozenset[str]] = {}

    def holds(self, is_in: Callable[[bytes], bool]) -> bool:
        """Return `is_in` of the bytes of the module, computed once for each question."""
        if is_in not in self._answers:
            self._answers[is_in] = is_in(self.text.encode())
        return self._answers[is_in]

    def nodes(self) -> Iterator[Node]:
        """Yield every node of the module, those in functions included."""
        yield from walk(*self.facts.body)
        for function in self.facts.functions:
            yield from walk(*function.body)

    def node_at(self, place: int, kind: type[N]) -> N | None:
        """Return the node of a kind that has its own place there."""
        key = place, kind
        if key not in self._nodes_at:
            nodes = (node for node in self.nodes_around(place) if isinstance(node, kind))
            at_place = (node for node in nodes if getattr(node, "place", None) == place)
            self._nodes_at[key] = next(at_place, None)
        node: N | None = self._nodes_at[key]
        return node

    def nodes_around(self, place: int) -> Iterator[Node]:
        """Yield the nodes of the piece that holds `place`: no other piece is read."""
        if place < PIECE:
            yield from walk(*self.facts.body)
        for function in self.facts.functions_around(place):
            yield from walk(*function.body)

    def has_word(self, pattern: WordPattern) -> bool:
        """Return whether an identifier or a string constant looks like this; no comment counts."""
        if pattern not in self._words:
            strings = (
                node.value
                for node in self.nodes()
                if isinstance(node, Constant) and isinstance(node.value, str)
            )
            names = chain.from_iterable(function.mentions for function in self.facts.functions)
            words = chain(self.facts.mentions, names, strings)
            self._words[pattern] = pattern.is_in(self.text) and any(map(pattern.is_in, words))
        return self._words[pattern]

    def written(self, names: frozenset[str]) -> frozenset[str]:
        """Return those of the names that may be in the module: none other is in its functions.

        Beyond ASCII a name can be written in several ways.
        """
        if names not in self._written:
            text = self.text
            written = frozenset(name for name in names if name in text) if text.isascii() else names
            self._written[names] = written
        return self._written[names]

    def site(self, place: int) -> Site:
        """Return the site of `place`, made once: a reader passes most places many times."""
        site = self.sites.get(place)
        if site is None:
            site = self.sites[place] = Site(self, place)
        return site

    def span(self, place: int) -> Span:
        assert self.facts.pieces is not None
        start, end = self.facts.pieces.range(place)
        return Span(self.filename, start, end)

    def __repr__(self) -> str:
        return f"Module({self.filename!r})"


class Site(NamedTuple):
    """A place in a module. Rows and columns are looked up when `span` is asked for."""

    module: Module
    place: int

    @property
    def span(self) -> Span:
        return self.module.span(self.place)


def shared_length(left: Sequence[object], right: Sequence[object]) -> int:
    """Return how many items both begin with: of two call chains, the calls that lead to both."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    return sum(1 for _ in alike)


class CallStep(NamedTuple):
    """A call on the way to a place: `site` is the call, `name` who is called."""

    site: Site
    name: str


def start_of(call_chain: Sequence[CallStep], site: Site) -> Site:
    """Return the outermost call that leads to a place; without one `site`, the place itself."""
    return call_chain[0].site if call_chain else site
