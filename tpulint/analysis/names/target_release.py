"""Find the TensorFlow that a file is written for: configured, or required by its project.

The nearest folder above the file in which a requirement file names TensorFlow counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from operator import eq, lt
from typing import NamedTuple

from tpulint.knowledge import names

FILES = re.compile(
    r"requirements[\w.-]*\.(?:txt|in)|setup\.(?:py|cfg)|pyproject\.toml|environment[\w-]*\.ya?ml"
    r"|Pipfile"
)
# Where people put it: their coming changes the answer.
USUAL = ("requirements.txt", "setup.py", "setup.cfg", "pyproject.toml", "environment.yml")
CLIMB = 12  # folders above a file that are looked into
REQUIRED = re.compile(
    r"""(?<![\w.-])tensorflow(?:[-_](?:cpu|gpu|intel|macos|rocm))?(?:\[[\w,\s-]*\])?
        (?:["']?\s*=\s*["'])?  # Poetry's and Pipfile's table
        \s*\(?((?:\s*,?\s*(?:[<>=!~^]=?|===?)\s*\d[\d.]*\w*(?:\.\*)?)+)""",
    re.VERBOSE | re.IGNORECASE,
)
SPECIFIER = re.compile(r"([<>=!~^]=?|===?)\s*(\d+(?:\.\d+)*)")
COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)


class Target(NamedTuple):
    """`mask`: the releases it may run on. `stated`: somebody said so; else they are all.

    configured: it was said to tpulint itself, and not of the project as a whole.
    newest: the last of them, which is what gets installed.
    """

    mask: int
    stated: bool
    configured: bool = False

    @property
    def newest(self) -> int:
        return 1 << (self.mask.bit_length() - 1)


class Targets:
    """The targets of the files of a run.

    consulted: the requirement files that were read, and where one is missing that would be.
    """

    def __init__(self, configured: str | None = None) -> None:
        self._configured = configured
        self._folders: dict[str, Target | None] = {}
        self._known: dict[str, Target] = {}
        self.consulted: list[str] = []

    def of(self, filename: str) -> Target:
        """The target of a file, which need not exist."""
        configured = names.mask_of(self._configured) if self._configured else 0
        if configured:
            return Target(configured, True, True)
        folder = os.path.dirname(os.path.abspath(filename))
        if folder not in self._known:
            self._known[folder] = self._above(folder)
        return self._known[folder]

    def _above(self, folder: str) -> Target:
        """Return the requirement of the nearest folder that has one, up to the repository's top."""
        for _ in range(CLIMB):
            if folder not in self._folders:
                self._folders[folder] = self._required_in(folder)
            found = self._folders[folder]
            if found is not None:
                return found
            above = os.path.dirname(folder)
            if above == folder or os.path.exists(os.path.join(folder, ".git")):
                break
            folder = above
        return Target(names.every(), False)

    def _required_in(self, folder: str) -> Target | None:
        """Return the requirement of a folder's files together; None where they have none."""
        mask = 0
        try:
            listed = sorted(os.listdir(folder))
        except OSError:
            return None
        self.consulted += [os.path.join(folder, name) for name in USUAL if name not in listed]
        for name in filter(FILES.fullmatch, listed):
            path = os.path.join(folder, name)
            try:
                with open(path, encoding="utf-8", errors="replace") as stream:
                    text = stream.read()
            except OSError:
                continue
            self.consulted.append(path)
            mask |= required(text)
        return Target(mask, True) if mask else None


def required(text: str) -> int:
    """The releases that a requirement file's text allows, as a mask; 0 where it names none."""
    found = 0
    for match in REQUIRED.finditer(COMMENT.sub("", text)):
        found |= allowed(SPECIFIER.findall(match.group(1)))
    return found


def allowed(specifiers: list[tuple[str, str]]) -> int:
    """The releases that meet all of `(operator, version)`, as a mask."""
    mask = names.every()
    for operator, version in specifiers:
        exact = names.mask_of(".".join([*version.split("."), "0"][:2]))
        number = names.key(version)
        later = _where(partial(lt, number))
        if operator in ("==", "===", "="):
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
