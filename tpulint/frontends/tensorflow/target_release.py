"""Find the TensorFlow that a file is written for: configured, or required by its project.

The nearest folder above the file in which a requirement file names TensorFlow counts, be it
without a version: then any release may be installed. A README in a folder below that one, whose
commands install or run a release, is nearer to the file, and counts in its place.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from tpulint.disk import (
    CONFIGURATION_LIMIT_BYTES,
    README_FILES,
    REQUIREMENT_FILES,
    REQUIREMENTS,
    Disk,
)
from tpulint.finding import Location
from tpulint.frontends.tensorflow.knowledge import names

# TensorFlow 2.16 and newer have Keras 3, unless the variable is set and tf-keras installed.
LEGACY_KERAS = b"TF_USE_LEGACY_KERAS"
# TensorFlow Addons and the models for TensorFlow of `transformers` fail with Keras 3. (Most runs
# need none of these expressions: `re` compiles a string when it is first searched for.)
_ADDONS = rb"(?m)^\s*(?:import|from) tensorflow_addons\b"
_TRANSFORMERS = rb"\bTF(?!Record)[A-Z]\w*(?:Model|For[A-Z]\w+)\b"
LAST_WITH_KERAS_2 = "2.15"
# The last TensorFlow that was published for a version of Python.
LAST_FOR_PYTHON = {"3.5": "2.3", "3.6": "2.6", "3.7": "2.11", "3.8": "2.13"}
_KERNEL = rb'"language_info"\s*:\s*\{[^{}]*(?:\{[^{}]*\}[^{}]*)*"version"\s*:\s*"(3\.\d+)'
# What `print("Tensorflow version " + tf.__version__)` and the like left in a notebook.
_PRINTED = (
    rb'"[^"]{0,16}\b(?:[Tt]ensor[Ff]low|TF|tf)(?: [Vv]|\.__v)ersion(?:__)?(?: is|:| =)?'
    rb"\s+([12]\.\d+)"
)
# What `print(tf.__version__)` alone left there, in the same cell: its outputs may stand first.
_PRINTS = rb"tf\.(?:__version__|version\.VERSION)\b"
_BARE_VERSION = rb'"text(?:/plain)?"\s*:\s*\[\s*"\'?([12]\.\d+)\.\d[\w.-]*\'?(?:\\n)?"'
_IN_CELL = rb'(?:(?!"cell_type").){0,600}?'
_PRINTED_ALONE = b"(?s)" + b"|".join(
    [_PRINTS + _IN_CELL + _BARE_VERSION, _BARE_VERSION + _IN_CELL + _PRINTS]
)
_KERAS = r"tensorflow(?:\.compat\.v[12])?\.keras\b"
CLIMB = 12  # folders above a file that are looked into


class Target(NamedTuple):
    """`mask`: the releases it may run on. `stated`: the project says so; else they are all.

    configured: it was said to tpulint itself, and not of the project as a whole.
    newest: the last of them, which is what gets installed. requirement: what allows that
    one, in the file `required_in` (absolute). legacy_keras: `tf.keras` is Keras 2 in all of them.
    needs_keras_2: a package is required, too, that fails with Keras 3.
    """

    mask: int
    stated: bool
    configured: bool = False
    requirement: Requirement | None = None
    required_in: str = ""
    legacy_keras: bool = False
    needs_keras_2: bool = False

    @property
    def newest(self) -> int:
        return 1 << (self.mask.bit_length() - 1)

    @property
    def installed(self) -> int:
        """The releases of the table that stand for the one that gets installed.

        That is the newest, or both neighbours of a single release that the table does not have.
        """
        required = self.requirement
        around = 0 if required is None or required.is_open else self.mask & required.mask
        return around or self.newest

    def of_file(self, keras_2: bool) -> Target:
        """Return the target of a file, which may choose Keras 2 itself (see `keeps_keras_2`)."""
        return self._replace(legacy_keras=self.legacy_keras or keras_2)

    def of_name(self, path: str) -> Target:
        """Return the target for one dotted name: with Keras 2, `tf.keras` is TensorFlow 2.15's."""
        if not self.legacy_keras or re.match(_KERAS, path) is None:
            return self
        before = allowed([("<=", LAST_WITH_KERAS_2)])
        same = names.mask_of(LAST_WITH_KERAS_2) if self.mask & ~before else 0
        return self._replace(mask=self.mask & before | same)


def keeps_keras_2(data: bytes) -> bool:
    """Return whether a file with these bytes may choose Keras 2."""
    return LEGACY_KERAS in data


def needs_keras_2(data: bytes) -> bool:
    """Return whether a file with these bytes uses what fails with Keras 3."""
    has_models = b"transformers" in data and re.search(_TRANSFORMERS, data) is not None
    return has_models or re.search(_ADDONS, data) is not None


def last_for(notebook: bytes) -> str | None:
    """Return the last release that can have run a notebook: it printed one, or by its Python."""
    printed = re.search(_PRINTED, notebook) or re.search(_PRINTED_ALONE, notebook)
    if printed and printed.lastindex:
        return printed[printed.lastindex].decode()
    kernel = re.search(_KERNEL, notebook)
    return LAST_FOR_PYTHON.get(kernel[1].decode()) if kernel else None


class Targets:
    """The targets of the files of a run."""

    def __init__(self, configured: str | None = None, disk: Disk | None = None) -> None:
        self._disk = disk or Disk()
        self._configured = configured
        self._folders: dict[str, Target | None] = {}
        self._known: dict[str, Target] = {}
        self._run_on: dict[str, int] = {}

    def of(self, filename: str) -> Target:
        """Return the target of a file, which need not exist."""
        folder = os.path.dirname(filename)
        if folder not in self._known:
            self._known[folder] = self._find_above(os.path.abspath(folder))
        target = self._known[folder]
        configured = names.mask_of(self._configured) if self._configured else 0
        if configured:
            target = Target(configured, True, True, legacy_keras=target.legacy_keras)
        return target

    def run_on(self, notebook: str) -> int:
        """Return the releases that can have run a notebook, as a mask; all of any other file."""
        if not notebook.endswith(".ipynb"):
            return names.every()
        if notebook not in self._run_on:
            try:
                last = last_for(self._disk.read(os.path.abspath(notebook)))
            except OSError:
                last = None
            self._run_on[notebook] = allowed([("<=", last)]) if last else names.every()
        return self._run_on[notebook]

    def _find_above(self, folder: str) -> Target:
        """Return the requirement of the nearest folder that has one, up to the repository's top."""
        passed: list[str] = []
        for _ in range(CLIMB):
            if folder not in self._folders:
                self._folders[folder] = self._required_in(folder)
            target = self._folders[folder]
            if target is not None:
                for nearer in passed:  # what the commands in a README install or run
                    readmes = self._texts(nearer, README_FILES)
                    rows = ((row, path) for path, text in readmes for row in in_commands(text))
                    if required := [row for row in rows if row[0].mask]:
                        return _combine(required)
                return target
            passed.append(folder)
            above = os.path.dirname(folder)
            if above == folder or self._disk.exists(os.path.join(folder, ".git")):
                break
            folder = above
        return Target(names.every(), False)

    def _required_in(self, folder: str) -> Target | None:
        """Return what a folder's files require together; None where they require nothing."""
        texts = list(self._texts(folder, REQUIREMENT_FILES))
        required = [(row, path) for path, text in texts for row in requirements(text) if row.mask]
        any_release = any(is_required_bare(text) for _, text in texts)
        keras_2 = any(requires_keras_2(text) for _, text in texts)
        is_needed = any(re.search(_NEEDS_KERAS_2, _without_comments(text)) for _, text in texts)
        if not (required or any_release or keras_2 or is_needed):
            return None
        target = _combine(required) if required else Target(names.every(), False)
        return target._replace(legacy_keras=keras_2, needs_keras_2=is_needed)

    def _texts(self, folder: str, names: re.Pattern[str]) -> Iterator[tuple[str, str]]:
        """Yield the path and text of each file in a listed folder that has one of the `names`."""
        for name in filter(names.fullmatch, sorted(self._disk.listing(folder, REQUIREMENTS))):
            path = os.path.join(folder, name)
            try:
                yield path, decoded(self._disk.read(path, CONFIGURATION_LIMIT_BYTES))
            except OSError:
                continue


def decoded(data: bytes) -> str:
    """Return the text of a requirement file, with the line ends of Python."""
    text = data.decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _combine(required: list[tuple[Requirement, str]]) -> Target:
    """Return the target of a folder: what any requirement allows, and the one that allows most."""
    mask = functools.reduce(int.__or__, (requirement.mask for requirement, _ in required))
    widest, path = max(required, key=lambda row: row[0].mask.bit_length())
    return Target(mask, True, False, widest, path)


_PACKAGE = r"tensorflow(?:[-_](cpu|gpu|intel|macos|rocm))?(?:\[[\w,\s-]*\])?"
_VERSIONED = rf"""(?xi)(?<![\w.-]){_PACKAGE}
        (?:["']?\s*=\s*["'])?  # Poetry's and Pipfile's table
        \s*(?:\(\s*)?((?:(?:,\s*)?(?:[<>=!~^]=?|===?)\s*\d[\d.]*\w*(?:\.\*)?\s*)+)"""
# The package by itself: a line of its own, or a string of its own in a list.
_BARE = rf"""(?xim)(?:^[ \t]*(?:-[ \t]+)?|["']){_PACKAGE}
        (?:["']\s*[],)]|["']\s*$|[ \t]*(?:[;\#].*)?$|["']?\s*=\s*["']\*["'])"""
_KERAS_2 = r"(?i)(?<![\w.-])tf[-_]keras\b"
_NEEDS_KERAS_2 = r"(?i)(?<![\w.-])tensorflow[-_]addons\b"
_SPECIFIER = r"([<>=!~^]=?|===?)\s*(\d+(?:\.\d+)*)"
_COMMENT = r"(?m)^[^\S\n]*#.*$"
# Lines of a README: what installs a package, and the option of Google's AI Platform.
_INSTALLER = r"\b(?:pip3?|conda|poetry|uv)\b"
_INSTALLS = re.compile(r"\b(?:install|add)\b")
_RUNTIME = r"--runtime-version[= ]+[\"']?(\d+\.\d+)"
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


def requirements(text: str, first_row: int = 1) -> Iterator[Requirement]:
    """Yield the requirements of TensorFlow with a version in the text of a requirement file.

    first_row: where the text begins, which may be a line of a file.
    """
    blanked = _without_comments(text)
    for match in re.finditer(_VERSIONED, blanked):
        package, specifiers = match.groups()
        pairs = re.findall(_SPECIFIER, specifiers)
        # Of a package that ended there are no later releases.
        ended = _FIRST_WITHOUT.get((package or "").lower())
        mask = allowed([*pairs, ("<", ended)] if ended else pairs)
        is_exact = any(operator in _EXACT and "." in version for operator, version in pairs)
        written = _closed(match.group().rstrip(), blanked[match.end() :])
        row = blanked.count("\n", 0, match.start()) + first_row
        column = match.start() - blanked.rfind("\n", 0, match.start())
        above, _, last = written.rpartition("\n")
        end = Location(row, column + len(written))
        if above:
            end = Location(row + written.count("\n"), len(last) + 1)
        yield Requirement(written, Location(row, column), end, mask, not is_exact)


def _closed(written: str, rest: str) -> str:
    """Return a requirement with the quote that closes its version, as in `tensorflow = "^2.4"`."""
    quote = rest[:1]
    return written + quote if quote in ("'", '"') and written.count(quote) % 2 else written


def in_commands(text: str) -> Iterator[Requirement]:
    """Yield the releases of TensorFlow that the commands in a README's text install, or run."""
    for row, line in enumerate(text.split("\n"), 1):
        installer = re.search(_INSTALLER, line)
        if installer is not None and _INSTALLS.search(line, installer.end()):
            yield from requirements(line, row)
        for match in re.finditer(_RUNTIME, line):
            start, end = Location(row, match.start() + 1), Location(row, match.end() + 1)
            mask = allowed([("==", match.group(1))])
            yield Requirement(match.group(), start, end, mask, is_open=False)


def is_required_bare(text: str) -> bool:
    """Return whether a requirement file's text names TensorFlow without a version."""
    return re.search(_BARE, _without_comments(text)) is not None


def requires_keras_2(text: str) -> bool:
    """Return whether a requirement file's text names tf-keras, Keras 2 for newer TensorFlows."""
    return re.search(_KERAS_2, _without_comments(text)) is not None


def _without_comments(text: str) -> str:
    """Return the text with the lines that are comments blanked; every place stays where it is."""
    return re.sub(_COMMENT, lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def allowed(specifiers: list[tuple[str, str]]) -> int:
    """Return the releases that meet all of `(operator, version)`, as a mask."""
    mask = names.every()
    for operator, version in specifiers:
        exact = names.mask_of(".".join([*version.split("."), "0"][:2]))
        number, keys = names.key(version), [names.key(release) for release in names.releases()]
        later = sum(1 << i for i, key in enumerate(keys) if key > number)
        earlier = sum(1 << i for i, key in enumerate(keys) if key < number)
        if operator in _EXACT:
            mask &= exact if "." in version else names.mask_of(f"{version}.x")
        elif operator in (">=", ">"):
            mask &= exact | later  # of the same minor release there are later ones
        elif operator == "<=":
            mask &= exact | ~later
        elif operator == "<":
            mask &= earlier
        elif operator in ("~=", "^"):
            same = names.mask_of(f"{version.split('.')[0]}.x")
            patch = operator == "~=" and version.count(".") > 1
            mask &= exact if patch else (exact | later) & same
    return mask
