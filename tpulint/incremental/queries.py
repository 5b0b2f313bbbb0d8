"""The queries of a check: facts of files, imports, programs, findings in programs, and fixes.

The facts of a file depend on its bytes alone. The imports and programs of a batch depend on the
facts of all its files, and on what the disk answered; the findings in a program on what was asked
while it was read. So an edit that leaves the facts of a file as they were leaves the programs as
they were, and the findings in all programs that did not read the file.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from tpulint.cache_dir import sealed, unsealed
from tpulint.diagnostics.fix import with_edits
from tpulint.diagnostics.suppress import CommentFacts, comment_facts
from tpulint.disk import absolute_paths
from tpulint.finding import Finding, Fix
from tpulint.incremental import codec
from tpulint.incremental.disk import CheckedDisk, DiskDependencies
from tpulint.incremental.memo import Memo, Result, SharedCache, package_hash
from tpulint.incremental.model import Analysis, Batch, FileFacts, Job, Programs
from tpulint.source import Source

Imports = dict[str, tuple[str, tuple[str, ...]]]  # by path: the hash of its imports, and the files

T = TypeVar("T")

FACTS, IMPORTS, PROGRAMS, FINDINGS = "facts", "imports", "programs", "findings"
FIXES, COMMENTS = "fixes", "comments"
HEAD_CHARACTERS = 16
WRITE_SECONDS = 2.0  # between two transactions of a long check


class SearchedFile(NamedTuple):
    """A file that was searched: the digest of its bytes, and what they say."""

    filename: str
    digest: str
    facts: FileFacts


class Queries:
    """The results of earlier checks for one batch, as far as they are still good.

    searched, analyzed: how many files and programs had no such result.
    """

    def __init__(
        self, batch: Batch, disk: CheckedDisk, memo: Memo, shared: SharedCache | None = None
    ) -> None:
        self._disk = disk
        self._memo = memo
        self._shared = shared
        self._paths = codec.Paths(os.getcwd())
        self._new: list[Result] = []
        paths = absolute_paths(batch.filenames)
        # By the names of the run: findings name files as it does.
        self._shown = dict(zip(paths, batch.filenames, strict=True))
        analyzer = [memo.analyzer_identity(), sys.version, batch.settings]
        self._of_files = hashed(analyzer)[:HEAD_CHARACTERS]
        place = [os.getcwd(), batch.filenames, sorted(batch.context)]
        self._of_batch = hashed([*analyzer, *place])[:HEAD_CHARACTERS]
        # The folders above in which imports may start are as many as this one is deep.
        depth = os.getcwd().count(os.sep)
        self._of_programs = hashed([*analyzer, sorted(batch.codes), depth])[:HEAD_CHARACTERS]
        self._texts: dict[str, str] = {}  # by path, the facts of its newest bytes
        self._facts: dict[str, FileFacts] | None = None
        self._decoded: dict[str, tuple[str | None, Mapping[str, Any], DiskDependencies | None]] = {}
        self._written = time.monotonic()
        self.searched = 0
        self.analyzed = 0

    # Facts of files.

    def changed_files(self) -> list[str]:
        """Return the files whose facts are not known."""
        texts = self._memo.all(FACTS, self._of_files)
        self._texts.clear()
        self._facts = None
        changed = []
        for path, name in self._shown.items():
            digest, _, text = texts.get(path, "").partition(" ")
            if digest and digest == self._disk.digest(path):
                self._texts[path] = text
            else:
                changed.append(name)
        self.searched = len(changed)
        return changed

    def remember_facts(self, files: Iterable[SearchedFile]) -> None:
        digests = {}
        for filename, digest, facts in files:
            path = os.path.abspath(filename)
            text = self._texts[path] = codec.encoded_facts(facts)
            self._new.append(Result(FACTS, self._of_files, path, f"{digest} {text}"))
            digests[path] = digest
            if self._facts is not None:
                self._facts[filename] = facts
        self._disk.learn(digests)

    def facts(self) -> dict[str, FileFacts]:
        """Return the facts that are known, by the name of the file."""
        if self._facts is None:
            facts = codec.decoded_facts(self._texts.values())
            if facts is None:
                self._texts.clear()
            names = (self._shown[path] for path in self._texts)
            self._facts = dict(zip(names, facts or (), strict=True))
        return self._facts

    def _state(self) -> str:
        return hashed([self._texts.get(path) for path in self._shown])

    # Programs, and the imports that they are found by.

    def programs(self) -> Programs | None:
        """Return the programs of the batch if they are those of the last check."""
        row, dependencies = self._result(PROGRAMS)
        if dependencies is None or row.get("state") != self._state():
            return None
        if not self._disk.answers_as_before(dependencies):
            return None
        return codec.sound(codec.programs_of, row.get("programs"))

    def imports(self, dependencies: DiskDependencies) -> dict[str, tuple[str, ...]]:
        """Return what files import, as far as that is known; note what it depends on."""
        row, before = self._result(IMPORTS)
        if before is None or not self._disk.answers_as_before(before):
            return {}
        imports = codec.sound(_imports, row.get("imports"))
        if imports is None:
            return {}
        dependencies.update(before)
        now = self._hashes_of_imports()
        return {path: files for path, (hash_, files) in imports.items() if now.get(path) == hash_}

    def remember_imports(
        self, imports: Mapping[str, tuple[str, ...]], dependencies: DiskDependencies
    ) -> None:
        now = self._hashes_of_imports()
        rows = {path: (now[path], files) for path, files in imports.items() if path in now}
        for path in self._shown:
            dependencies.files.pop(path, None)  # what counts of their bytes is among their facts
        self._remember(IMPORTS, {"imports": rows}, dependencies.names_alone())

    def remember_programs(self, programs: Programs, dependencies: DiskDependencies) -> None:
        row = {"state": self._state(), "programs": programs}
        self._disk.learn(dependencies.files)
        self._remember(PROGRAMS, row, dependencies)

    def _hashes_of_imports(self) -> dict[str, str]:
        """Return the hash of the import statements of each file, by path."""
        return {os.path.abspath(name): facts.imports for name, facts in self.facts().items()}

    def _remember(
        self, query: str, row: Mapping[str, object], depends_on: DiskDependencies
    ) -> None:
        if depends_on.is_consistent:
            dependencies = codec.dependencies_row(depends_on, self._paths)
            text = codec.encoded({**row, "dependencies": dependencies})
            self._new.append(Result(query, self._of_batch, "", text))

    def _result(self, query: str) -> tuple[Mapping[str, Any], DiskDependencies | None]:
        """Return the result for the batch, and its dependencies; None for those if it is none."""
        text = self._memo.some(query, self._of_batch, [""]).get("")
        result = self._decoded.get(query)
        if result is None or result[0] != text:
            row = {} if text is None else codec.decoded(dict, text) or {}
            before = codec.sound(codec.dependencies_of, row.get("dependencies"), self._paths)
            result = self._decoded[query] = (text, row, before)
        return result[1:]

    # Findings in programs.

    def recall(self, jobs: Iterable[Job]) -> dict[Job, Analysis]:
        """Return what was found in the programs all of whose inputs are as they were."""
        keys = {job: self._key(job) for job in jobs}
        texts: Mapping[str, str | bytes]
        texts = self._memo.some(FINDINGS, self._of_programs, keys.values())
        analyses = {job: self._analysis(texts.get(key)) for job, key in keys.items()}
        if self._shared is not None:
            missing = {
                job: self._shared_name(key) for job, key in keys.items() if analyses[job] is None
            }
            entries = self._shared.read(missing.values())
            for job, name in missing.items():
                text = unsealed(name, entries.get(name, b""))
                analyses[job] = self._analysis(text)
                if text is not None and analyses[job] is not None:
                    row = Result(FINDINGS, self._of_programs, keys[job], text.decode())
                    self._new.append(row)
        return {job: analysis for job, analysis in analyses.items() if analysis is not None}

    def remember(self, job: Job, analysis: Analysis) -> None:
        """Keep what was found in a program, unless something failed."""
        self.analyzed += 1
        dependencies = analysis.dependencies
        if dependencies is None or analysis.failures or not dependencies.is_consistent:
            return
        self._disk.learn(dependencies.files)
        # A finding may name a file outside of the folder by its absolute path, which another
        # machine does not have.
        reads_outside = any(
            digest and codec.is_outside(self._paths.relative(path))
            for path, digest in dependencies.files.items()
        )
        row = {
            **codec.analysis_row(analysis, self._paths),
            "here": self._paths.here if reads_outside else "",
            "dependencies": codec.dependencies_row(dependencies, self._paths),
            "names": [self._shown.get(path) for path in dependencies.files],
        }
        key, text = self._key(job), codec.encoded(row)
        self._new.append(Result(FINDINGS, self._of_programs, key, text))
        if self._shared is not None:
            name = self._shared_name(key)
            self._shared.write(name, sealed(name, text.encode()))

    def _analysis(self, text: str | bytes | None) -> Analysis | None:
        """Return what was found, where the entry is sound and its inputs are as they were."""
        return None if text is None else codec.decoded(self._if_valid, text)

    def _if_valid(self, row: Mapping[str, Any]) -> Analysis | None:
        if row["here"] not in ("", self._paths.here):
            return None
        dependencies_before = codec.dependencies_of(row["dependencies"], self._paths)
        if row["names"] != [self._shown.get(path) for path in dependencies_before.files]:
            return None
        if not self._disk.answers_as_before(dependencies_before):
            return None
        return codec.analysis_of(row, self._paths)._replace(dependencies=dependencies_before)

    def _key(self, job: Job) -> str:
        placed = [(self._paths.relative(path), certainty) for path, certainty in job.placed]
        return hashed([job.seeds, placed, job.callers])

    def _shared_name(self, key: str) -> str:
        return hashed([self._of_programs, key])

    @property
    def messages(self) -> list[str]:
        """The lines for standard error about caches that cannot be used."""
        return [*self._memo.messages, *(self._shared.faults if self._shared is not None else ())]

    def write_now_and_then(self) -> None:
        """Record what is new if that was long ago: a check may be interrupted."""
        if time.monotonic() - self._written > WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        self._written = time.monotonic()
        self._memo.write(self._new, self._disk.new)
        self._new.clear()
        self._disk.keep_new()


# Comments and fixes in files with findings.


class KnownByText(Generic[T]):
    """Records that were made of the text of files before, and those that are made now.

    libcst reads a file for them, which takes longer than all else in a check after which nothing
    has changed.
    """

    def __init__(self, memo: Memo, query: str, record: Callable[..., T]) -> None:
        self._memo = memo
        self._query = query
        self._decode = codec.optional(record)
        self._head = package_hash()[:HEAD_CHARACTERS]
        self._known: dict[str, T | None] = {}
        self._new: list[Result] = []

    def of(self, inputs: Sequence[object], make: Callable[[], T | None]) -> T | None:
        """Return what `make` returns for the inputs, which it is called for once."""
        key = hashed(inputs)
        if key not in self._known:
            text = self._memo.some(self._query, self._head, [key]).get(key)
            row = None if text is None else codec.decoded(self._decode, text)
            if row is None:
                row = (make(),)
                self._new.append(Result(self._query, self._head, key, codec.encoded(row)))
            (self._known[key],) = row
        return self._known[key]

    def write(self) -> None:
        self._memo.write(self._new, {})


class KnownComments(KnownByText[CommentFacts]):
    """The facts of the comments of files."""

    def __init__(self, memo: Memo) -> None:
        super().__init__(memo, COMMENTS, CommentFacts)

    def read(self, source: Source) -> CommentFacts | None:
        """Return the facts of the comments of a file; None where it cannot be parsed."""
        return self.of([source.text], partial(comment_facts, source))


def with_fixes(
    findings: Collection[Finding],
    sources: Mapping[str, Source],
    memo: Memo,
    report_progress: Callable[[str, int, int], None],
) -> list[Finding]:
    """Return the findings with the edits of their fixes, and without a fix that makes none.

    The edits depend on the text of the file and the changes alone.
    """
    known = KnownByText(memo, FIXES, Fix)
    results = []
    for number, finding in enumerate(findings):
        report_progress("fixes made:", number, len(findings))
        fix = finding.fix
        source = sources.get(finding.span.filename)
        if fix is not None and fix.changes:
            complete = None
            if source is not None:
                complete = known.of([source.text, fix], partial(with_edits, fix, source.text))
            finding = finding._replace(fix=complete)
        results.append(finding)
    known.write()
    return results


def _imports(row: Mapping[str, Any]) -> Imports:
    return {path: (imports, tuple(files)) for path, (imports, files) in row.items()}


def hashed(rows: Sequence[object] | Collection[object]) -> str:
    return hashlib.sha256(repr(rows).encode("utf-8", "surrogateescape")).hexdigest()
