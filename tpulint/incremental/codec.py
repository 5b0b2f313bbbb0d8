"""Results as text, for the database and for the cache that machines share.

It is JSON, as other processes and machines may write it: to decode it runs nothing. The types of
the fields of a result say how it is read back. Whatever does not decode is no result.
"""

from __future__ import annotations

import enum
import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin

from tpulint.incremental.disk import DiskDependencies
from tpulint.incremental.model import Analysis, FileFacts, Programs

Row = Iterable[Any]  # a list of JSON, unchecked: `sound` catches what does not fit
Decode = Callable[[Any], Any]
T = TypeVar("T")

# Raised where a result is decoded that is none.
UNSOUND = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
NO_FACTS = FileFacts()
# The parts of an analysis that are kept; the others are of one run.
KEPT = ("findings", "messages", "skipped", "unfollowed", "passed_over", "programs")


def encoded(value: object) -> str:
    """Return a value of named tuples, tables, sets, enumerations and words as text."""
    return json.dumps(value, separators=(",", ":"), default=_plain)


def _plain(value: enum.Enum | Iterable[str]) -> object:
    """Return what JSON holds in the place of a value that it does not know."""
    if isinstance(value, enum.Enum):
        return value.value
    return dict(value) if isinstance(value, Mapping) else sorted(value)


def decoded(decode: Callable[[Any], T], text: str | bytes) -> T | None:
    """Return what `decode` makes of the content of a text; None where it is no result."""
    return sound(lambda: decode(json.loads(text)))


def sound(decode: Callable[..., T], *rows: object) -> T | None:
    """Return what `decode` makes of rows; None where they are no result."""
    try:
        return decode(*rows)
    except UNSOUND:
        return None


class _Fields(dict[str, Decode]):
    """What decodes the values of the fields of named tuples, by name, made when it is needed."""

    def __init__(self, cls: Any) -> None:
        super().__init__()
        self.cls = cls

    def __missing__(self, name: str) -> Decode:
        annotation = self.cls.__annotations__[name].__forward_arg__
        names = vars(sys.modules[self.cls.__module__])
        try:
            hint = eval(annotation, names)
        except NameError:  # few files have such names: their module is imported for them alone
            from tpulint.syntax import api_spellings

            hint = eval(annotation, names, vars(api_spellings))
        self[name] = _decoder(hint)
        return self[name]


def record(cls: Callable[..., T]) -> Callable[[Any], T]:
    """Return what decodes rows of named tuples; a row may leave out fields that have defaults."""
    names: tuple[str, ...] = getattr(cls, "_fields")  # noqa: B009
    fields = _Fields(cls)

    def decode(row: Any) -> T:
        if type(row) is not list or len(row) > len(names):
            raise TypeError("no row")
        # None needs no decoder: to know the type of an absent part may need the import of a module.
        return cls(
            *[
                None if value is None else fields[name](value)
                for name, value in zip(names, row, strict=False)
            ]
        )

    return decode


def optional(cls: Callable[..., T]) -> Callable[[Row], tuple[T | None]]:
    """Return what decodes a row of one named tuple or of None."""

    def decode(row: Row) -> tuple[T | None]:
        (inner,) = row
        return (None if inner is None else record(cls)(inner),)

    return decode


@functools.cache
def _decoder(hint: Any) -> Decode:
    """Return what decodes values of a type: a union is one class or several plain ones, or None."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None:
        if hasattr(hint, "_fields"):
            return record(hint)
        return hint if issubclass(hint, enum.Enum) else functools.partial(_checked, (hint,))
    if NoneType in arguments:
        if len(arguments) > 2:
            return functools.partial(_checked, arguments)
        decode = _decoder(next(argument for argument in arguments if argument is not NoneType))
        return lambda value: None if value is None else decode(value)
    decoders = [_decoder(argument) for argument in arguments if argument is not Ellipsis]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        of_key = int if arguments[0] is int else decoders[0]  # JSON has words as keys
        return lambda row: {of_key(key): decoders[1](value) for key, value in row.items()}
    if origin is frozenset or Ellipsis in arguments:
        return lambda row: origin(map(decoders[0], row))
    return lambda row: tuple(decode(value) for decode, value in zip(decoders, row, strict=True))


def _checked(classes: tuple[type, ...], value: object) -> object:
    if type(value) not in classes:
        raise TypeError(f"no {classes[0].__name__}")
    return value


class Paths:
    """Paths as they are written: from the folder of the check on.

    Other machines may have that folder elsewhere.
    """

    def __init__(self, here: str) -> None:
        self.here = here
        self._inside = os.path.join(here, "")

    def relative(self, path: str) -> str:
        """Return an absolute path as one that begins in the folder, if that is possible."""
        if path.startswith(self._inside):
            return path[len(self._inside) :]
        try:
            return os.path.relpath(path, self.here)
        except ValueError:  # of Windows: it is on another drive
            return path

    def absolute(self, path: str) -> str:
        """Return the path that was written as `path`."""
        if path[:1] == os.curdir:  # it may lead out of the folder, or be the folder itself
            return os.path.normpath(self._inside + path)
        return path if os.path.isabs(path) else self._inside + path


def is_outside(path: str) -> bool:
    """Return whether a relative path leads out of the folder that it begins in."""
    return path.startswith(os.pardir) or os.path.isabs(path)


# The facts of a file.


def encoded_facts(facts: FileFacts) -> str:
    """Return the facts of a file without those at the end that most files do not have."""
    row: list[object] = list(facts)
    while row and row[-1] == NO_FACTS[len(row) - 1]:
        row.pop()
    return encoded(row)


def decoded_facts(texts: Iterable[str]) -> list[FileFacts] | None:
    """Return the facts of files, which are decoded together: that is many times as fast."""
    texts = list(texts)
    decode = record(FileFacts)
    facts = decoded(lambda rows: list(map(decode, rows)), f"[{','.join(texts)}]")
    return facts if facts is not None and len(facts) == len(texts) else None


# What was asked of the disk.


def dependencies_row(dependencies: DiskDependencies, paths: Paths) -> dict[str, object]:
    relative = paths.relative
    return {
        "files": {relative(path): digest for path, digest in dependencies.files.items()},
        "present": {relative(path): sorted(n) for path, n in dependencies.present.items()},
        "absent": {relative(path): sorted(n) for path, n in dependencies.absent.items()},
        "listings": [
            [kind, relative(path), names] for (kind, path), names in dependencies.listings.items()
        ],
    }


def dependencies_of(row: Mapping[str, Any], paths: Paths) -> DiskDependencies:
    absolute = paths.absolute
    return DiskDependencies(
        {absolute(path): digest for path, digest in row["files"].items()},
        {absolute(path): names for path, names in row["present"].items()},
        {absolute(path): names for path, names in row["absent"].items()},
        {(kind, absolute(path)): names for kind, path, names in row["listings"]},
    )


# The programs of a batch, and the findings in a program.


programs_of = record(Programs)


def analysis_row(analysis: Analysis, paths: Paths) -> dict[str, object]:
    """Return what was found in a program for JSON."""
    passed_over = [
        file._replace(path=paths.relative(os.path.abspath(file.path)))
        for file in analysis.passed_over
    ]
    return {name: getattr(analysis, name) for name in KEPT} | {"passed_over": passed_over}


def analysis_of(row: Mapping[str, Any], paths: Paths) -> Analysis:
    fields = _Fields(Analysis)
    analysis = Analysis(**{name: fields[name](row[name]) for name in KEPT})
    passed_over = [file._replace(path=paths.absolute(file.path)) for file in analysis.passed_over]
    return analysis._replace(passed_over=tuple(passed_over))
