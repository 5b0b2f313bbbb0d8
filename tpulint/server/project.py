"""One project as the server sees it: its files, its last analysis, and what is known between two.

Everything here runs on the worker's thread.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tpulint.check import driver
from tpulint.check.discover import SUFFIXES, shown
from tpulint.check.editor import Cancelled, EditorState, ReadProgram
from tpulint.check.per_file import request_of
from tpulint.check.programs import unreadable
from tpulint.check.request import Request
from tpulint.config import Config, overridden
from tpulint.config.files import FILES as CONFIGURATIONS
from tpulint.config.files import Closest
from tpulint.config.keys import read
from tpulint.config.readers import ConfigError
from tpulint.disk import MEBIBYTE, README_FILES, REQUIREMENT_FILES, limit_of
from tpulint.explain.account import left_out
from tpulint.finding import Finding
from tpulint.source import Source

# The client's settings: `initializationOptions`, and `workspace/didChangeConfiguration`.

SECTION = "tpulint"


class ClientSettings(NamedTuple):
    """certainty: over that of every configuration file. code_lens, inlay_hints: shown or not."""

    certainty: str | None = None
    code_lens: bool = True
    inlay_hints: bool = True

    def over(self, config: Config) -> Config:
        """Return the configuration with the client's values laid over it."""
        if self.certainty is None:
            return config
        value = read("certainty", self.certainty)
        return overridden(config, "certainty", value, "the editor's settings")


def settings_of(settings: object) -> ClientSettings:
    """Return the settings in what a client sends, which may hold them in a section.

    Raises ConfigError for values that make no sense; unknown keys are other versions' keys.
    """
    table = settings if isinstance(settings, Mapping) else {}
    for section in ("settings", SECTION):
        inner = table.get(section)
        table = inner if isinstance(inner, Mapping) else table
    certainty = table.get("certainty") or None
    if certainty is not None:
        read("certainty", certainty)
    for key in ("codeLens", "inlayHints"):
        if not isinstance(table.get(key, True), bool):
            raise ConfigError(f"{SECTION}.{key}: must be true or false")
    return ClientSettings(certainty, table.get("codeLens", True), table.get("inlayHints", True))


class Snapshot(NamedTuple):
    """The result of one analysis, by absolute path; `messages` say what could not be done.

    incomplete: only the edited file's findings are those of its newest text.
    """

    findings: Mapping[str, Sequence[Finding]] = {}
    sources: Mapping[str, Source] = {}
    messages: Sequence[str] = ()
    incomplete: bool = False


class ServerProject:
    """The project below `root`, or a file by itself, under the client's settings."""

    def __init__(self, root: str, settings: ClientSettings) -> None:
        self.root = root
        self._settings = settings
        self._is_file = root.endswith(SUFFIXES) and not os.path.isdir(root)
        self._task: driver.Task | None = None
        self._state = EditorState(driver.build_and_check)
        self._outdated = True  # the disk may have changed
        self.superseded: Callable[[], bool] = lambda: False  # asked on the worker's thread

    def look_again(self) -> None:
        """Note that files on the disk may have changed, come or gone."""
        self._outdated = True

    def configure(self, settings: ClientSettings) -> None:
        """Start from scratch: settings or configuration files have changed."""
        self._settings = settings
        self._task = None
        self._outdated = True

    def analyze(self, unsaved: Mapping[str, bytes], first: str | None = None) -> Snapshot | None:
        """Return the findings with the bytes of unsaved files laid over the disk's.

        Those of the file `first` may come before the others'. None where something has changed
        meanwhile. Raises ConfigError.
        """
        try:
            return self._analyzed(unsaved, first)
        except Cancelled:
            return None

    def validate_partial_check(self, first: str) -> None:
        """See what can be said of a file before all of its program is read."""
        with contextlib.suppress(Cancelled):
            self._state.validate_partial_check(first)

    def _analyzed(self, unsaved: Mapping[str, bytes], first: str | None) -> Snapshot:
        task = self._with_new(self._current_task(), unsaved)
        large = [path for path, data in unsaved.items() if len(data) > limit_of(path)]
        overlay = {shown(path): data for path, data in unsaved.items()} | dict.fromkeys(
            map(shown, large), b""
        )
        self._state.lay_over(overlay, first)
        result = driver.check(task, overlay, self._state)
        findings: dict[str, list[Finding]] = {}
        for finding in result.findings:
            findings.setdefault(os.path.abspath(finding.span.filename), []).append(finding)
        for path in large:
            reason = f"is not read: it is larger than {limit_of(path) // MEBIBYTE} MiB"
            findings[path] = [unreadable(shown(path), reason, 1, 1)]
        sources = {os.path.abspath(name): source for name, source in result.context.sources.items()}
        messages = tuple(map(str, result.failures))
        return Snapshot(findings, sources, messages, self._state.is_partial)

    def _current_task(self) -> driver.Task:
        """Return the task; where the disk may have changed, look which files there are."""
        task = self._task
        if task is None:
            self._state = EditorState(driver.build_and_check, self._checkpoint)
        if task is None or self._outdated:
            self._outdated = False
            self._state.refresh()
            discovered = self._discovered()
            if task is None or _names(discovered) != _names(task):
                task = self._task = discovered
        return task

    def _with_new(self, task: driver.Task, unsaved: Mapping[str, bytes]) -> driver.Task:
        """Add the files to the task that are in the editor and not on the disk yet."""
        names = _names(task)
        new = sorted(
            name
            for path in unsaved
            if (name := shown(path)) not in names and self._belongs(path, task.request)
        )
        return task._replace(filenames=(*task.filenames, *new))

    def programs_of(self, path: str) -> Sequence[ReadProgram]:
        """Return the programs that read the module at `path` in the last analysis."""
        return list(self._state.programs_of(path))

    def _checkpoint(self) -> None:
        if self.superseded():
            raise Cancelled

    def _discovered(self) -> driver.Task:
        closest = Closest(self.root, over=self._settings.over)
        folder = os.path.dirname(self.root) if self._is_file else self.root
        request = request_of(closest, folder)._replace(paths=(self.root,), noqa=True)
        if self._is_file:
            names = (shown(self.root),)
            return driver.Task(request, names, frozenset(names))
        # A project may have no Python file yet, or none that can be read.
        return driver.discover(request)._replace(failures=())

    def _belongs(self, path: str, request: Request) -> bool:
        """Return whether a check of the project would find the file, were it on the disk."""
        inside = path.startswith(os.path.join(self.root, ""))
        return inside and path.endswith(SUFFIXES) and not left_out(path, request.config_resolver())


def _names(task: driver.Task) -> set[str]:
    return {*task.filenames, *task.context}


def is_configuration(path: str) -> bool:
    """Return whether the file decides what is analyzed, and how."""
    name = os.path.basename(path)
    names_release = REQUIREMENT_FILES.fullmatch(name) or README_FILES.fullmatch(name)
    return name in (*CONFIGURATIONS, ".gitignore") or names_release is not None
