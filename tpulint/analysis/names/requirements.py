"""The TensorFlow that a requirement file asks for: the line, and the releases that it allows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from operator import eq, lt
from typing import NamedTuple

from tpulint.finding import Location
from tpulint.knowledge import names

_PACKAGE = r"tensorflow(?:[-_](cpu|gpu|intel|macos|rocm))?(?:\[[\w,\s-]*\])?"
_VERSIONED = re.compile(
    rf"""(?<![\w.-]){_PACKAGE}
        (?:["']?\s*=\s*["'])?  # Poetry's and Pipfile's table
        \s*(?:\(\s*)?((?:(?:,\s*)?(?:[<>=!~^]=?|===?)\s*\d[\d.]*\w*(?:\.\*)?\s*)+)""",
    re.VERBOSE | re.IGNORECASE,
)
# The package by itself: a line of its own, or a string of its own in a list.
_BARE = re.compile(
    rf"""(?:^[ \t]*(?:-[ \t]+)?|["']){_PACKAGE}
        (?:["']\s*[],)]|["']\s*$|[ \t]*(?:[;\#].*)?$|["']?\s*=\s*["']\*["'])""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_KERAS_2 = re.compile(r"(?<![\w.-])tf[-_]keras\b", re.IGNORECASE)
_SPECIFIER = re.compile(r"([<>=!~^]=?|===?)\s*(\d+(?:\.\d+)*)")
_COMMENT = re.compile(r"^[^\S\n]*#.*$", re.MULTILINE)
# Lines of a README: what installs a package, and the option of Google's AI Platform.
_INSTALLER = re.compile(r"\b(?:pip3?|conda|poetry|uv)\b")
_INSTALLS = re.compile(r"\b(?:install|add)\b")
_RUNTIME = re.compile(r"--runtime-version[= ]+[\"']?(\d+\.\d+)")
_EXACT = frozenset(["==", "===", "="])
# The first release without the packages that ended.
_FIRST_WITHOUT = {"gpu": "2.13", "rocm": "2.15", "macos": "2.17", "intel": "2.19"}


class Requirement(NamedTuple):
    """One requirement of TensorFlow: `text` from `start` to `end`, and the releases it allows.

    is_open: it names no single release.
    """

    text: str
    start: Location
    end: Location
    mask: int
    is_open: bool


def requirements(text: str) -> Iterator[Requirement]:
    """Yield the requirements of TensorFlow with a version in a requirement file's text."""
    blanked = _without_comments(text)
    for match in _VERSIONED.finditer(blanked):
        package, specifiers = match.groups()
        found = _SPECIFIER.findall(specifiers)
        mask = allowed(found) & _published(package)
        is_exact = any(operator in _EXACT and "." in version for operator, version in found)
        written = _closed(match.group().rstrip(), blanked[match.end() :])
        row = blanked.count("\n", 0, match.start()) + 1
        column = match.start() - (blanked.rfind("\n", 0, match.start()) + 1) + 1
        last = written.rpartition("\n")[2]
        end = (
            Location(row + written.count("\n"), len(last) + 1)
            if "\n" in written
            else Location(row, column + len(written))
        )
        yield Requirement(written, Location(row, column), end, mask, not is_exact)


def _closed(written: str, rest: str) -> str:
    """Return a requirement with the quote that closes its version, as in `tensorflow = "^2.4"`."""
    quote = rest[:1]
    return written + quote if quote in ("'", '"') and written.count(quote) % 2 else written


def in_commands(text: str) -> Iterator[Requirement]:
    """Yield the releases of TensorFlow that the commands in a README's text install, or run."""
    for number, line in enumerate(text.split("\n")):
        installer = _INSTALLER.search(line)
        if installer is not None and _INSTALLS.search(line, installer.end()):
            for each in requirements(line):
                start, end = (Location(number + 1, it.column) for it in (each.start, each.end))
                yield each._replace(start=start, end=end)
        for match in _RUNTIME.finditer(line):
            start = Location(number + 1, match.start() + 1)
            end = Location(number + 1, match.end() + 1)
            mask = allowed([("==", match.group(1))])
            yield Requirement(match.group(), start, end, mask, is_open=False)


def is_required_bare(text: str) -> bool:
    """Return whether a requirement file's text names TensorFlow without a version."""
    return _BARE.search(_without_comments(text)) is not None


def requires_keras_2(text: str) -> bool:
    """Return whether a requirement file's text names tf-keras, Keras 2 for newer TensorFlows."""
    return _KERAS_2.search(_without_comments(text)) is not None


def _without_comments(text: str) -> str:
    """Return the text with the lines that are comments blanked; every place stays where it is."""
    return _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def _published(package: str | None) -> int:
    """Return the releases that there are of `tensorflow-PACKAGE`, as a mask."""
    end = _FIRST_WITHOUT.get((package or "").lower())
    return allowed([("<", end)]) if end else names.every()


def allowed(specifiers: list[tuple[str, str]]) -> int:
    """Return the releases that meet all of `(operator, version)`, as a mask."""
    mask = names.every()
    for operator, version in specifiers:
        exact = names.mask_of(".".join([*version.split("."), "0"][:2]))
        number = names.key(version)
        later = _where(partial(lt, number))
        if operator in _EXACT:
            mask &= exact if "." in version else names.mask_of(f"{version}.x")
        elif operator == ">=":
            mask &= exact | later
        elif operator == ">":
            mask &= exact | later  # of the same minor release there are later ones
        elif operator == "<=":
            mask &= exact | ~later
        elif operator == "<":
            mask &= ~(later | _where(partial(eq, number[:2])))
        elif operator in ("~=", "^"):
            same = names.mask_of(f"{version.split('.')[0]}.x")
            patch = operator == "~=" and version.count(".") > 1
            mask &= exact if patch else (exact | later) & same
    return mask


def _where(test: Callable[[tuple[int, ...]], bool]) -> int:
    return sum(1 << i for i, each in enumerate(names.releases()) if test(names.key(each)))
