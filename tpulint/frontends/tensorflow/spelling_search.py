"""Names of TensorFlow that the releases a file is written for do not have.

A file is first searched as bytes: one expression finds how it imports TensorFlow, another the
dotted names of the watched part of the API, and each is looked up in the table. Only a file with a
name that is missing somewhere is parsed, and only if its code has the name: most such names are in
its documentation.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from tpulint.finding import Location, Span
from tpulint.frontends.tensorflow.knowledge import names
from tpulint.frontends.tensorflow.target_release import Target, Targets, keeps_keras_2

if TYPE_CHECKING:
    from tpulint.syntax.api_spellings import FileSpellings, SpelledName


class Spelled(NamedTuple):
    """A name as a file spells it, and what it can stand for.

    having: the releases that have it; target: those that the file is written for. `aliases`
    are the file's own names for modules, `asks` whether it asks for the version anywhere.
    excludes: in each run, the file uses another name that only releases without this one have.
    """

    name: SpelledName
    span: Span
    having: int
    target: Target
    aliases: dict[str, tuple[str, ...]]
    asks: bool
    excludes: bool = False


class NamesInFile(NamedTuple):
    """The names of TensorFlow in the bytes of a file.

    missing: what some release lacks, in code or in words. keras_2: it may choose Keras 2, where
    something is missing. spellings: where in the code that stands, if it had to be found out.
    """

    missing: tuple[str, ...] = ()
    keras_2: bool = False
    spellings: FileSpellings | None = None


def names_in_file(data: bytes) -> NamesInFile:
    """Search the bytes of a file for names that some release lacks."""
    missing = missing_somewhere(data)
    return NamesInFile(missing, bool(missing) and keeps_keras_2(data))


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
        from tpulint.syntax.api_spellings import ATTRIBUTE

        always = {
            having_any_of(name.paths)
            for name in spellings.names
            if not name.inside and not name.tried and name.place == ATTRIBUTE
        }
        for name in spellings.names:
            having = having_any_of(name.paths)
            target = of_file.of_name(name.paths[0])
            if is_missing(having, target) and not (name.tried and having):
                span = Span(filename, Location(*name.start), Location(*name.end))
                excludes = any(mask & target.mask and not mask & having for mask in always)
                self.found.append(
                    Spelled(name, span, having, target, spellings.aliases, spellings.asks, excludes)
                )


def _in_code(
    filename: str, its: NamesInFile, target: Target, read: Callable[[], bytes]
) -> NamesInFile:
    """Return what the code of the file names; spelled out if the target lacks something of it."""
    from tpulint.source import read_source
    from tpulint.syntax.api_spellings import spelled
    from tpulint.syntax.parse import code_of

    text = read_source(filename, read()).text
    its = its._replace(missing=missing_somewhere(code_of(text).encode()))
    if not lacks_one(target, its.missing):
        return its
    spellings = spelled(text, PACKAGE.decode(), names.method_names())
    if spellings is None:
        return its
    everywhere = names.every()
    some = tuple(name for name in spellings.names if having_any_of(name.paths) != everywhere)
    return its._replace(spellings=spellings._replace(names=some))


PACKAGE = b"tensorflow"
# The text that may follow `tf.` for a name to be in the table (scripts/names.py).
_WATCHED = (
    rb"contrib|tpu|distribute|estimator|keras|config|summary|xla|data\.experimental|compat"
    rb"|train|nn|math|image"
)
_ROOTS = frozenset(["tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2"])
# Each expression begins with its letters: then it is searched as fast as they are.
_FROM = re.compile(rb"from tensorflow((?:\.\w+)*) import[ \t]*(\([^)]*\)|[^\n#;]*)")
_IMPORT = re.compile(rb"import tensorflow((?:\.\w+)*)(?:[ \t]+as[ \t]+(\w+))?")
_LISTED = re.compile(rb"(\w+)(?:\s+as\s+(\w+))?\s*(?:,|\)|\\?\s*$|#)", re.MULTILINE)


def having_any_of(paths: tuple[str, ...]) -> int:
    """Return the releases that have one of the dotted names."""
    return functools.reduce(int.__or__, map(having_of, paths))


def lacks_one(target: Target, names: Iterable[str]) -> bool:
    """Return whether the releases of a target lack one of the names."""
    return any(is_missing(having_of(path), target.of_name(path)) for path in names)


def missing_somewhere(data: bytes) -> tuple[str, ...]:
    """Return the dotted names in these bytes that some release lacks, each once.

    They are sorted: an order that differs by process would look like an edit to the next check.
    """
    if PACKAGE not in data:
        return ()
    every = names.every()
    return tuple(sorted({path for path in candidates(data) if having_of(path) != every}))


@functools.lru_cache(maxsize=4096)
def having_of(path: str) -> int:
    """Return the releases that have a dotted name, or the method of that name."""
    return names.having(names.methods()[path].path if path in names.method_names() else path)


def is_missing(having: int, target: Target) -> bool:
    """Return whether a name of the releases `having` is missing in what gets installed."""
    return having & target.installed == 0 if target.stated else having == 0


def candidates(data: bytes) -> Iterator[str]:
    """Yield the dotted names of the watched API that are in these bytes, each at least once."""
    aliases: dict[bytes, set[str]] = {}
    for rest, asname in set(_IMPORT.findall(data)):
        path = f"tensorflow{rest.decode()}"
        yield path
        aliases.setdefault(asname or PACKAGE, set()).add(path if asname else "tensorflow")
    for rest, listed in set(_FROM.findall(data)):
        for name, asname in _LISTED.findall(listed):
            path = f"tensorflow{rest.decode()}.{name.decode()}"
            yield path
            aliases.setdefault(asname or name, set()).add(path)
    for alias, paths in aliases.items():
        for base in paths:
            if base in _ROOTS or names.members(base):
                for rest in set(_uses(alias, base in _ROOTS).findall(data)):
                    yield f"{base}.{rest.decode()}"
    if aliases:
        yield from (name for name in names.method_names() if f".{name}(".encode() in data)


@functools.lru_cache(maxsize=512)
def _uses(alias: bytes, root: bool) -> re.Pattern[bytes]:
    """Return the pattern that finds `alias.watched.name`, or any `alias.name`, in bytes."""
    first = rb"(?:" + _WATCHED + rb")" if root else rb"\w+"
    before = rb"(?<![\w.]" + alias + rb"\.)"
    return re.compile(alias + rb"\." + before + rb"(" + first + rb"(?:\.\w+)*)")
