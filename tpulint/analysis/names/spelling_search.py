"""Names of TensorFlow that the releases a file is written for do not have.

A file is first searched as bytes (see `api_names`). Only one with a name that is missing somewhere
is parsed, and only if its code has the name: most such names are in its documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tpulint.analysis.names.api_names import (
    PACKAGE,
    having_any_of,
    is_missing,
    lacks_one,
    missing_somewhere,
)
from tpulint.analysis.names.target_release import Target, Targets
from tpulint.finding import Location, Span

if TYPE_CHECKING:
    from tpulint.syntax.api_spellings import FileSpellings, SpelledName


class Spelled(NamedTuple):
    """A name as a file spells it, and what it can stand for.

    having: the releases that have it; target: those that the file is written for. `aliases`
    are the file's own names for modules, `asks` whether it asks for the version anywhere.
    """

    name: SpelledName
    span: Span
    having: int
    target: Target
    aliases: dict[str, tuple[str, ...]]
    asks: bool


class NamesInFile(NamedTuple):
    """The names of TensorFlow in the bytes of a file.

    missing: what some release lacks, in code or in words. keras_2: it may choose Keras 2, where
    something is missing. spellings: where in the code that stands, if it had to be found out.
    """

    missing: tuple[str, ...] = ()
    keras_2: bool = False
    spellings: FileSpellings | None = None


class SpellingSearch:
    """A search of every file's bytes; `found` are the names that are missing somewhere."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self.found: list[Spelled] = []

    def look(self, filename: str, its: NamesInFile, read: Callable[[], bytes]) -> NamesInFile:
        """Keep what the file names and its releases do not have.

        Return what the file names, as far as that had to be found out.

        Raises:
            UnreadableSource: that cannot be found out, for the file is no text.
        """
        target = self._targets.of(filename).of_file(its.keras_2)
        if not lacks_one(target, its.missing):
            return its
        if its.spellings is None:
            its = _in_code(filename, its, target, read)
        if its.spellings is not None:
            self._keep(filename, its.spellings, target)
        return its

    def _keep(self, filename: str, spellings: FileSpellings, of_file: Target) -> None:
        for name in spellings.names:
            having = having_any_of(name.paths)
            target = of_file.of_name(name.paths[0])
            if is_missing(having, target):
                span = Span(filename, Location(*name.start), Location(*name.end))
                self.found.append(
                    Spelled(name, span, having, target, spellings.aliases, spellings.asks)
                )


def _in_code(
    filename: str, its: NamesInFile, target: Target, read: Callable[[], bytes]
) -> NamesInFile:
    """Return what the code of the file names; spelled out if the target lacks something of it."""
    from tpulint.knowledge import names
    from tpulint.knowledge.renames import method_names
    from tpulint.source import read_source
    from tpulint.syntax.api_spellings import spelled
    from tpulint.syntax.text_scan import code_of

    text = read_source(filename, read()).text
    its = its._replace(missing=tuple(missing_somewhere(code_of(text).encode())))
    found = (
        spelled(text, PACKAGE.decode(), method_names()) if lacks_one(target, its.missing) else None
    )
    if found is None:
        return its
    everywhere = names.every()
    some = tuple(each for each in found.names if having_any_of(each.paths) != everywhere)
    return its._replace(spellings=found._replace(names=some))
