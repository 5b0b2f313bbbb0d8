"""The findings of one file at a time, for tools that ask file by file.

A finding may be in any module that a TPU program reaches, so a file is checked with its
project; the project is analyzed once a process, and its files' findings are picked from
there. Where nothing in it names the TPU API, that is a search of bytes.
"""

from __future__ import annotations

import functools
import os
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tpulint import plugins
from tpulint.check import driver
from tpulint.check.discover import SUFFIXES, discover, shown
from tpulint.check.request import cache_place, codes_by, project_of
from tpulint.config.files import Closest
from tpulint.diagnostics.resolve import RuleSelection
from tpulint.disk import read_regular
from tpulint.finding import Finding

if TYPE_CHECKING:
    from tpulint.incremental.model import Failure


class CheckedProject(NamedTuple):
    """A project's files and their findings; `unreported` are the failures not returned yet."""

    filenames: frozenset[str]
    findings: Mapping[str, Sequence[Finding]]
    unreported: list[Failure]


class CheckedFile(NamedTuple):
    """The findings of a file, and the failures since the file before."""

    findings: Sequence[Finding]
    failures: Sequence[Failure] = ()


def check(filename: str, data: bytes) -> CheckedFile:
    """Return the findings in the file, were `data` its content; `# noqa` is not read.

    A file that the project leaves out (`exclude`, .gitignore) is left out here too. Raises
    ConfigError for a configuration that cannot be used.
    """
    name = shown(filename)
    folder = os.path.dirname(os.path.abspath(name))
    root, closest = project_around(folder)
    if root is not None and is_saved(name, data):
        project = checked(root, os.getcwd())
        failures = tuple(project.unreported)
        project.unreported.clear()
        if name in project.filenames or name.endswith(SUFFIXES):
            return CheckedFile(project.findings.get(name, ()), failures)
    # The file with `data` for its bytes, read again with the project around it.
    request = request_of(closest, folder)._replace(stdin=data, stdin_filename=name)
    result = driver.check(driver.discover(request._replace(force_exclude=True)))
    return CheckedFile(result.findings, result.failures)


@functools.cache
def project_around(folder: str) -> tuple[str | None, Closest]:
    """Return the project that the folder is in, and the way to its files' configurations."""
    root = project_of(folder)
    # The host (flake8) shows no notes: whoever wants to know runs `tpulint check`.
    plugins.require(plugins.choose([root or folder]).options)
    return root, Closest(root or folder)


@functools.cache
def checked(root: str, here: str) -> CheckedProject:
    """Return the project below `root`, its files named as they are seen from `here`."""
    closest = Closest(root)
    discovery = discover([root], closest=closest, force_exclude=True)
    request = request_of(closest, root)
    result = driver.check(driver.Task(request, discovery.filenames))
    findings: dict[str, list[Finding]] = {}
    for finding in result.findings:
        findings.setdefault(finding.span.filename, []).append(finding)
    return CheckedProject(frozenset(discovery.filenames), findings, list(result.failures))


def request_of(closest: Closest, folder: str) -> driver.Request:
    """Ask for one process: the tools that ask file by file, and editors, have their own."""
    config = closest.of(folder)
    return driver.Request(
        config._replace(jobs=1),
        codes_by(config, RuleSelection()),
        cache=cache_place(config, folder).directory,
        fixes=False,
        noqa=False,
        closest=closest,
    )


def is_saved(filename: str, data: bytes) -> bool:
    """Return whether the file on the disk is the same program, apart from BOM and line ends."""
    try:
        saved = read_regular(filename)
    except OSError:
        return False
    return saved == data or plain(saved) == plain(data)


def plain(data: bytes) -> bytes:
    return data.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
