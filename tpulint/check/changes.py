"""What git says has changed: since a revision, or among what is staged for a commit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from tpulint.check.discover import SUFFIXES
from tpulint.config import ConfigError


class Changes(NamedTuple):
    """The absolute paths that were changed, added or removed; None where all files count.

    `contents` are the bytes of files to read in place of those on the disk; `untracked` are files
    to leave out, and folders, which end in a separator.
    """

    paths: frozenset[str] | None
    contents: Mapping[str, bytes] = MappingProxyType({})
    untracked: frozenset[str] = frozenset()

    def leave_out(self, path: str) -> bool:
        """Return whether a file is not tracked and to be left out."""
        folders = tuple(name for name in self.untracked if name.endswith(os.sep))
        return path in self.untracked or path.startswith(folders)


class Repository:
    """The git repository around a folder; `option` is what the user asked with."""

    def __init__(self, folder: str, option: str) -> None:
        self._option = option
        self._folder = folder
        self._top = os.path.realpath(self.git("rev-parse", "--show-toplevel").removesuffix("\n"))
        self._folder = self._top

    def since(self, revision: str) -> Changes:
        """Return what was changed since the history left `revision`, committed or not."""
        commit = f"{revision}^{{commit}}"
        self.git("rev-parse", "--verify", "--quiet", "--end-of-options", commit)
        listed = self._names("diff", "--name-only", "--no-renames", "-z", self._base(revision))
        return Changes(listed | self._untracked())

    def staged(self, environment: Mapping[str, str]) -> Changes:
        """Return what is staged, or what the environment says pre-commit was asked about.

        Files are read as they are staged. No commit holds the untracked ones.
        """
        untracked = self._untracked()
        unstaged = sorted(self._names("diff", "--name-only", "-z"))
        revision = environment.get("PRE_COMMIT_FROM_REF")
        if revision is None and self._is_run_on_all_files(environment, bool(unstaged)):
            return Changes(None, untracked=untracked)
        base = self._head() if revision is None else self._base(revision)
        paths = self._staged_since(base) if base else None
        contents = {path: self._content(path) for path in unstaged if path.endswith(SUFFIXES)}
        return Changes(paths, contents, untracked)

    def _is_run_on_all_files(self, environment: Mapping[str, str], has_unstaged: bool) -> bool:
        """Return whether pre-commit runs on all files, which it does not say itself.

        For a commit git names its index. By hand, pre-commit puts unstaged changes aside unless
        it runs on named files or all files; without staged changes only these are left.
        """
        if not environment.get("PRE_COMMIT") or "GIT_INDEX_FILE" in environment:
            return False
        head = self._head()
        return has_unstaged or (head is not None and not self._staged_since(head))

    def _head(self) -> str | None:
        """Return the commit that the next one follows; before the first there is none."""
        try:
            return self.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()
        except ConfigError:
            return None

    def _base(self, revision: str) -> str:
        try:
            return self.git("merge-base", "--", revision, "HEAD").strip()
        except ConfigError:  # no common history, as in a shallow clone
            return revision

    def _staged_since(self, commit: str) -> frozenset[str]:
        return self._names("diff", "--cached", "--name-only", "--no-renames", "-z", commit)

    def _untracked(self) -> frozenset[str]:
        listed = self.git("ls-files", "--others", "--exclude-standard", "-z")
        return frozenset(os.path.join(self._top, name) for name in listed.split("\0") if name)

    def _names(self, *arguments: str) -> frozenset[str]:
        listed = self.git(*arguments, "--")
        return frozenset(os.path.join(self._top, name) for name in listed.split("\0") if name)

    def _content(self, path: str) -> bytes:
        """Return the bytes that are staged, as git would write them to the disk."""
        name = os.path.relpath(path, self._top).replace(os.sep, "/")
        return self._run("cat-file", "--filters", f":{name}")

    def git(self, *arguments: str) -> str:
        return os.fsdecode(self._run(*arguments))

    def _run(self, *arguments: str) -> bytes:
        """Return the output of git. Raises ConfigError where it fails."""
        import subprocess

        environment = dict(os.environ)
        if "GIT_INDEX_FILE" in environment:  # a hook's may begin in its own folder
            environment["GIT_INDEX_FILE"] = os.path.abspath(environment["GIT_INDEX_FILE"])
        command = ["git", "-C", self._folder, *arguments]
        try:
            done = subprocess.run(command, capture_output=True, check=False, env=environment)
        except OSError as error:
            raise ConfigError(f"{self._option}: cannot run git: {error.strerror}") from None
        if done.returncode:
            said = os.fsdecode(done.stderr).strip().removeprefix("fatal: ").split("\n")[0]
            raise ConfigError(f"{self._option}: {said or 'unknown revision'}")
        return done.stdout
