"""A baseline: the accepted findings of a project, known by the text of their lines, not by row.

A finding is known by its file, its code and the text of its line; the file holds how
many of each there are. Lines may move, and files be renamed; a line that changes shows its
finding again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tpulint.config import ConfigError
from tpulint.disk import OWN_FILE_LIMIT_BYTES, read_regular
from tpulint.finding import Finding
from tpulint.source import Source

VERSION = 1
BaselineKey = tuple[str, str, str]


class BaselineError(ConfigError):
    """A baseline file that cannot be read."""


@dataclass(frozen=True)
class BaselineComparison:
    """The findings that the baseline leaves, and its entries that no longer match a finding."""

    new: tuple[Finding, ...]
    stale: tuple[str, ...]


def key_of(finding: Finding, sources: Mapping[str, Source], root: str) -> BaselineKey:
    """(file below `root` with slashes, code, hash of the line's text without its blanks)."""
    source = sources.get(finding.span.filename)
    line = source.line(finding.span.start.row).strip() if source else ""
    digest = hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return relative(finding.span.filename, root), finding.code, digest


def relative(filename: str, root: str) -> str:
    return os.path.relpath(filename, root).replace(os.sep, "/")


def write(findings: Iterable[Finding], sources: Mapping[str, Source], path: str) -> str:
    """Return the text of the baseline file at `path` for `findings`."""
    root = os.path.dirname(os.path.abspath(path))
    counts = Counter(key_of(finding, sources, root) for finding in findings)
    files: dict[str, dict[str, dict[str, int]]] = {}
    for (file, code, digest), number in sorted(counts.items()):
        files.setdefault(file, {}).setdefault(code, {})[digest] = number
    return json.dumps({"version": VERSION, "files": files}, indent=1) + "\n"


def read(path: str) -> Counter[BaselineKey]:
    """Return the known findings. Raises BaselineError for what is no baseline."""
    try:
        stored = json.loads(read_regular(path, OWN_FILE_LIMIT_BYTES).decode())
    except OSError as error:
        raise BaselineError(f"{path}: cannot read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}: not a baseline: {error}") from None
    try:
        if stored["version"] != VERSION:
            raise BaselineError(f"{path}: written by another version of tpulint; write it again")
        return Counter(
            {
                (file, code, digest): int(number)
                for file, by_code in stored["files"].items()
                for code, by_line in by_code.items()
                for digest, number in by_line.items()
            }
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BaselineError(f"{path}: not a baseline: no version and files") from None


def consume(left: Counter[BaselineKey], key: BaselineKey) -> bool:
    """Take one of `key` away; return whether there was one."""
    is_in_baseline = left[key] > 0
    left[key] -= is_in_baseline
    return is_in_baseline


def compare(
    findings: Iterable[Finding],
    sources: Mapping[str, Source],
    path: str,
    checked: Collection[str],
    codes: Collection[str],
) -> BaselineComparison:
    """Leave out the known findings; only entries of `checked` files and `codes` can be stale."""
    root = os.path.dirname(os.path.abspath(path))
    left = read(path)
    unmatched = [it for it in findings if not consume(left, key_of(it, sources, root))]
    # The entries of files that no longer exist, by what stays when a file is renamed.
    moved: dict[tuple[str, str], list[BaselineKey]] = {}
    files = {file for file, _, _ in left} if unmatched else set()
    gone = {file for file in files if not os.path.exists(os.path.join(root, file))}
    for key, number in left.items():
        if number > 0 and key[0] in gone:
            moved.setdefault(key[1:], []).append(key)
    new = [
        finding
        for finding in unmatched
        if not any(consume(left, key) for key in moved.get(key_of(finding, sources, root)[1:], ()))
    ]
    looked_at = {relative(filename, root) for filename in checked}
    stale = Counter(
        (file, code)
        for (file, code, _), number in left.items()
        for _ in range(number)
        if code in codes and (file in looked_at or not os.path.exists(os.path.join(root, file)))
    )
    entries = (
        f"{file}: {number} {code} of the baseline is no longer there"
        for (file, code), number in sorted(stale.items())
    )
    return BaselineComparison(tuple(new), tuple(entries))
