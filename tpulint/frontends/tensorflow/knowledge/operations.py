"""The operations that a TPU compiles, and the public names that end in another one.

`operations.tsv` is written by scripts/knowledge.py from the newest release; its blocks are
`compiled` (operation, and where a kernel does not take all of a TPU's dtypes, `attribute=`
those that it takes), `lacks` (dotted name, the dtypes of tensors that it takes and its kernel
does not), `uncompiled` (operation, h or n), `builds` (dotted name, operations), and what was typed
into `operations.toml`, which says how it reads: `dtypes`, `refused` and `typed`.

`kernels.tsv` is written by scripts/kernels.py from older releases. Its blocks are `releases` (the
newest last), `kernels` (operation, the last of them whose compiler has no kernel for it) and
`builds` (dotted name, operations without a kernel, the releases in which it builds them).
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

from tpulint.frontends.tensorflow.knowledge.names import key

HERE = Path(__file__).parent
V1 = "tensorflow.compat.v1."
V2 = "tensorflow.compat.v2."
RAW = "tensorflow.raw_ops."
HOST, NUMERIC = "hn"


class BuiltOperation(NamedTuple):
    """An operation that a call of a public name builds and that is not compiled.

    lacks_kernel: it certainly has none, since it deals in strings, files, Python or the host's
    state, or a TPU refused it; else another release of the compiler may have one. writer: only
    under a summary writer.
    release: the TensorFlow that has no kernel, where newer ones have one.
    """

    operations: tuple[str, ...]
    lacks_kernel: bool
    writer: bool = False
    release: str = ""


class OnlyIf(NamedTuple):
    """A condition on one argument: it has one of these values; it is not given if there are none.

    A value is a constant as text, or the last part of a dotted name.
    """

    argument: str
    position: int
    values: tuple[str, ...]


@functools.cache
def _blocks() -> dict[str, dict[str, str]]:
    return {title: dict(rows) for title, rows in _rows("operations.tsv").items()}


@functools.cache
def _rows(table: str) -> dict[str, list[tuple[str, str]]]:
    blocks = {}
    for block in (HERE / table).read_text(encoding="utf-8").split("\n\n"):
        title, *lines = block.strip("\n").split("\n")
        blocks[title] = [(name, rest) for name, _, rest in (line.partition("\t") for line in lines)]
    return blocks


@functools.cache
def dtypes() -> frozenset[str]:
    """Return the dtypes that a TPU has."""
    return frozenset(_blocks()["dtypes"])


@functools.cache
def builds(dotted: str) -> BuiltOperation | None:
    """Return the operation that a call builds on the device and that is not compiled, if any.

    A name of TensorFlow 1 may go by its old name or by tf.compat.v1, and a project's shim over
    either by what follows `.compat.`.
    """
    for name in _spellings(dotted):
        listed, _, only_if = _blocks()["typed"].get(name, "").partition("\t")
        if listed and (only_if in ("", "writer") or (only_if == "v1" and name == dotted)):
            return _built(listed, writer=only_if == "writer")
        derived = _blocks()["builds"].get(name)
        if derived is not None:
            return _built(derived)
        if name.startswith(RAW) and name[len(RAW) :] in _blocks()["uncompiled"]:
            return _built(name[len(RAW) :])
    return None


def _built(listed: str, *, writer: bool = False) -> BuiltOperation:
    """Return these operations, and whether certainly none has a kernel, on any release."""
    operations = tuple(listed.split(","))
    sorts, refused = _blocks()["uncompiled"], _blocks()["refused"]
    lack_kernels = all(sorts.get(name, HOST) == HOST or name in refused for name in operations)
    return BuiltOperation(operations, lack_kernels, writer)


@functools.cache
def builds_in_v1(dotted: str) -> bool:
    """Return whether the name of TensorFlow 2 builds something else than that of TensorFlow 1."""
    name = V1 + dotted[len("tensorflow.") :]
    return dotted.startswith("tensorflow.") and _blocks()["typed"].get(name, "").endswith("\tv1")


@functools.cache
def builds_by_argument(dotted: str) -> tuple[tuple[OnlyIf, BuiltOperation], ...]:
    """Return what a call builds that is not compiled, each with the argument that decides it."""
    rows = _built_by_argument()
    return tuple(row for name in _spellings(dotted) for row in rows.get(name, ()))


@functools.cache
def _built_by_argument() -> dict[str, list[tuple[OnlyIf, BuiltOperation]]]:
    """Return the few rows of names whose operation is decided by an argument."""
    rows: dict[str, list[tuple[OnlyIf, BuiltOperation]]] = {}
    for name, rest in _rows("operations.tsv")["typed"]:
        listed, _, only_if = rest.partition("\t")
        argument, is_decisive, where = only_if.partition("@")
        if is_decisive:
            position, _, values = where.partition("=")
            decisive = OnlyIf(argument, int(position), tuple(filter(None, values.split(";"))))
            rows.setdefault(name, []).append((decisive, _built(listed)))
    return rows


@functools.cache
def may_lack_kernel(dotted: str) -> bool:
    """Return whether a call of this name builds an operation without a kernel for TPUs."""
    return bool(builds(dotted) or builds_by_argument(dotted))


@functools.cache
def builds_in(dotted: str, versions: tuple[str, ...]) -> BuiltOperation | None:
    """Return what a call builds that none of these releases compiles, and newer ones do."""
    rows = [_row_in(dotted, version) for version in versions]
    operations = rows[0] if rows else ()
    if not operations or any(row != operations for row in rows):
        return None
    return BuiltOperation(operations, False, release=versions[-1])


@functools.cache
def is_new_kernel(dotted: str) -> bool:
    """Return whether a call may build an operation that older releases do not compile."""
    return any(
        name in _kernels_by_name()
        or (name.startswith(RAW) and name.removeprefix(RAW) in _last_without())
        for name in _spellings(dotted)
    )


def _row_in(dotted: str, version: str) -> tuple[str, ...]:
    """Return what a call builds in a release that has no kernel for it.

    Of a release that was not read, only what both its neighbours say counts.
    """
    read = [release for release, _ in _rows("kernels.tsv")["releases"]]
    newer = [release for release in read if key(release) >= key(version)]
    older = [release for release in read if key(release) <= key(version)]
    around = [*older[-1:], *newer[:1]]
    for name in _spellings(dotted):
        operation = name.removeprefix(RAW)
        last = _last_without().get(operation) if name.startswith(RAW) else None
        if last is not None and key(version) <= key(last):
            return (operation,)
        for operations, releases in _kernels_by_name().get(name, ()):
            if newer and all(release in releases for release in around):
                return operations
    return ()


@functools.cache
def _last_without() -> dict[str, str]:
    return dict(_rows("kernels.tsv")["kernels"])


@functools.cache
def _kernels_by_name() -> dict[str, list[tuple[tuple[str, ...], frozenset[str]]]]:
    kernels: dict[str, list[tuple[tuple[str, ...], frozenset[str]]]] = {}
    for name, rest in _rows("kernels.tsv")["builds"]:
        operations, _, releases = rest.partition("\t")
        row = tuple(operations.split(",")), frozenset(releases.split(","))
        kernels.setdefault(name, []).append(row)
    return kernels


@functools.cache
def lacks(dotted: str) -> frozenset[str]:
    """Return the dtypes of tensors that the function takes and its device kernel does not."""
    rows = (_blocks()["lacks"].get(name) for name in _spellings(dotted))
    return frozenset(next((row.split(",") for row in rows if row is not None), ()))


# The table has one spelling of a name, and programs use several.
def _spellings(dotted: str) -> tuple[str, ...]:
    """Return the names under which the table may have it, the likeliest first."""
    if dotted.startswith(V2):
        return ("tensorflow." + dotted[len(V2) :],)
    if dotted.startswith(V1):
        return (dotted, "tensorflow." + dotted[len(V1) :])
    if dotted.startswith("keras."):
        dotted = f"tensorflow.{dotted}"
    if dotted.startswith("tensorflow.keras."):
        return (dotted.replace(".experimental.preprocessing.", "."), dotted)
    if dotted.startswith("tensorflow."):
        return (dotted, V1 + dotted[len("tensorflow.") :])
    _, shim, rest = dotted.partition(".compat.")
    return (V1 + rest, "tensorflow." + rest) if shim else ()
