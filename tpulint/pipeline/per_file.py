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
from tpulint.config import Config, find_config
from tpulint.diagnostics.rule_selection import Layer, selected
from tpulint.finding import Finding
from tpulint.pipeline import driver
from tpulint.pipeline.discover import SUFFIXES, discover, shown


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
    root, config = setting(folder)
    if root is None or not same_text(on_disk(name), data):
        return alone(name, data, config)
    project = understood(root, config, os.getcwd())
    failures = tuple(project.untold)
    project.untold.clear()
    if name in project.filenames or name.endswith(SUFFIXES):
        return Answer(project.findings.get(name, ()), failures)
    return alone(name, data, config)


@functools.cache
def setting(folder: str) -> tuple[str | None, Config]:
    """The project that the folder is in, and its configuration; without a file, as at its top."""
    root = driver.project_of(folder)
    config = find_config(folder)
    return root, config._replace(root=root) if root and config.file is None else config


@functools.cache
def understood(root: str, config: Config, here: str) -> Project:
    """The project below `root`, its files named as they are seen from `here`."""
    found = discover([root], exclude=config.exclude, root=config.root, force_exclude=True)
    request = request_of(config)
    task = driver.Task(request, found.filenames, frozenset())
    run = driver.check(task, driver.Run(), {})
    tag(config.cache_path)
    findings: dict[str, list[Finding]] = {}
    for finding in run.findings:
        findings.setdefault(finding.span.filename, []).append(finding)
    untold = run.messages if run.failed else []
    return Project(frozenset(found.filenames), findings, untold)


def alone(name: str, data: bytes, config: Config) -> Answer:
    """The file with `data` for its bytes, read anew with the project around it."""
    request = request_of(config)._replace(stdin=data, stdin_filename=name, force_exclude=True)
    run = driver.check(*driver.prepare(request), {})
    return Answer(run.findings, run.messages if run.failed else ())


def request_of(config: Config) -> driver.Request:
    """One process, for the tools that ask file by file have their own."""
    return driver.Request(
        config._replace(jobs=1),
        selected([Layer(config.select, config.extend_select, config.ignore)]),
        baseline=config.baseline_path,
        cache=config.cache_path,
        noqa=False,
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
