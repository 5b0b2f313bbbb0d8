"""Names of TensorFlow in the bytes of a file, and the releases that have them.

One expression finds how the file imports TensorFlow, another the dotted names of the watched part
of the API, and each is looked up in the table.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

from tpulint.analysis.names.target_release import Target

PACKAGE = b"tensorflow"
# The text that may follow `tf.` for a name to be in the table (scripts/names.py).
_WATCHED = rb"contrib|tpu|distribute|estimator|keras|config|summary|xla|data\.experimental|compat"
_ROOTS = frozenset(["tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2"])
# Each expression begins with its letters: then it is searched as fast as they are.
_FROM = re.compile(rb"from tensorflow((?:\.\w+)*) import[ \t]*(\([^)]*\)|[^\n#;]*)")
_IMPORT = re.compile(rb"import tensorflow((?:\.\w+)*)(?:[ \t]+as[ \t]+(\w+))?")
_LISTED = re.compile(rb"(\w+)(?:\s+as\s+(\w+))?\s*(?:,|\)|\\?\s*$|#)", re.MULTILINE)


def having_any_of(paths: tuple[str, ...]) -> int:
    """Return the releases that have one of the dotted names."""
    return functools.reduce(int.__or__, map(having_of, paths))


def lacks_one(target: Target, names: Iterable[str]) -> bool:
    """Return whether the releases of a target lack one of the names."""
    return any(is_missing(having_of(path), target.of_name(path)) for path in names)


def missing_somewhere(data: bytes) -> Iterator[str]:
    """Yield the dotted names in these bytes that some release lacks."""
    from tpulint.knowledge import names

    if PACKAGE in data:
        every = names.every()
        yield from (path for path in candidates(data) if having_of(path) != every)


@functools.lru_cache(maxsize=4096)
def having_of(path: str) -> int:
    """Return the releases that have a dotted name, or the method of that name."""
    from tpulint.knowledge import names
    from tpulint.knowledge.renames import method_names, methods

    return names.having(methods()[path].path if path in method_names() else path)


def is_missing(having: int, target: Target) -> bool:
    """Return whether a name of the releases `having` is missing in what gets installed."""
    if not target.stated:
        return having == 0
    return having & target.installed == 0


def candidates(data: bytes) -> Iterator[str]:
    """Yield the dotted names of the watched API that are in these bytes, each at least once."""
    aliases: dict[bytes, set[str]] = {}
    for rest, asname in set(_IMPORT.findall(data)):
        path = f"tensorflow{rest.decode()}"
        yield path
        aliases.setdefault(asname or PACKAGE, set()).add(path if asname else "tensorflow")
    for rest, listed in set(_FROM.findall(data)):
        for name, asname in _LISTED.findall(listed):
            path = f"tensorflow{rest.decode()}.{name.decode()}"
            yield path
            aliases.setdefault(asname or name, set()).add(path)
    for alias, paths in aliases.items():
        for base in paths:
            if base in _ROOTS or is_watched(base):
                for rest in set(_uses(alias, base in _ROOTS).findall(data)):
                    yield f"{base}.{rest.decode()}"
    from tpulint.knowledge.renames import method_names

    if aliases:
        yield from (name for name in method_names() if f".{name}(".encode() in data)


@functools.cache
def is_watched(base: str) -> bool:
    """Return whether names in the module `base` are in the table."""
    from tpulint.knowledge import names

    return bool(names.members(base))


@functools.lru_cache(maxsize=512)
def _uses(alias: bytes, root: bool) -> re.Pattern[bytes]:
    """Return the pattern that finds `alias.watched.name`, or any `alias.name`, in bytes."""
    first = rb"(?:" + _WATCHED + rb")" if root else rb"\w+"
    before = rb"(?<![\w.]" + alias + rb"\.)"
    return re.compile(alias + rb"\." + before + rb"(" + first + rb"(?:\.\w+)*)")
