"""The findings of one file at a time, for tools that ask file by file.

A finding may be in any module that a TPU program reaches, so a file is judged with its
project; the project is understood once a process, and its files' findings are picked from
there. Where nothing in it names the seam, that is a search of bytes.
"""

from __future__ import annotations

import functools
import os
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tpulint.cache_dir import tag
from tpulint.config.closest import Closest
from tpulint.diagnostics.rule_selection import Layer
from tpulint.finding import Finding
from tpulint.pipeline import driver
from tpulint.pipeline.discover import SUFFIXES, discover, shown
from tpulint.pipeline.project_root import project_of
from tpulint.pipeline.request import codes_by


class Project(NamedTuple):
    """A project's files and their findings; `untold` is what failed and nobody was told yet."""

    filenames: frozenset[str]
    findings: Mapping[str, Sequence[Finding]]
    untold: list[str]


class Answer(NamedTuple):
    """The findings of a file, and what failed meanwhile."""

    findings: Sequence[Finding]
    failures: Sequence[str] = ()


def check(filename: str, data: bytes) -> Answer:
    """Return the findings in the file, were `data` its content; `# noqa` is not read.

    A file that the project leaves out (`exclude`, .gitignore) is left out here too. Raises
    ConfigError for a configuration that cannot be used.
    """
    name = shown(filename)
    folder = os.path.dirname(os.path.abspath(name))
    root, closest = setting(folder)
    if root is None or not same_text(on_disk(name), data):
        return alone(name, data, request_of(closest, folder))
    project = understood(root, os.getcwd())
    failures = tuple(project.untold)
    project.untold.clear()
    if name in project.filenames or name.endswith(SUFFIXES):
        return Answer(project.findings.get(name, ()), failures)
    return alone(name, data, request_of(closest, folder))


@functools.cache
def setting(folder: str) -> tuple[str | None, Closest]:
    """The project that the folder is in, and the way to its files' configurations."""
    root = project_of(folder)
    return root, Closest(root or folder)


@functools.cache
def understood(root: str, here: str) -> Project:
    """The project below `root`, its files named as they are seen from `here`."""
    closest = Closest(root)
    found = discover([root], closest=closest, force_exclude=True)
    request = request_of(closest, root)
    task = driver.Task(request, found.filenames, frozenset())
    run = driver.check(task, driver.Run(), {})
    tag(request.config.cache_path)
    findings: dict[str, list[Finding]] = {}
    for finding in run.findings:
        findings.setdefault(finding.span.filename, []).append(finding)
    untold = run.messages if run.failed else []
    return Project(frozenset(found.filenames), findings, untold)


def alone(name: str, data: bytes, request: driver.Request) -> Answer:
    """The file with `data` for its bytes, read anew with the project around it."""
    given = request._replace(stdin=data, stdin_filename=name, force_exclude=True)
    run = driver.check(*driver.prepare(given), {})
    return Answer(run.findings, run.messages if run.failed else ())


def request_of(closest: Closest, folder: str) -> driver.Request:
    """One process, for the tools that ask file by file have their own."""
    config = closest.of(folder)
    return driver.Request(
        config._replace(jobs=1),
        codes_by(config, Layer()),
        cache=config.cache_path,
        noqa=False,
        closest=closest,
    )


def same_text(one: bytes | None, other: bytes) -> bool:
    """Return whether both are the same program, apart from BOM and line ends."""
    return one is not None and (one == other or plain(one) == plain(other))


def plain(data: bytes) -> bytes:
    return data.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def on_disk(filename: str) -> bytes | None:
    try:
        with open(filename, "rb") as file:
            return file.read()
    except OSError:
        return None
