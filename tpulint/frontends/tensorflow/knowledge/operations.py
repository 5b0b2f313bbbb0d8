"""The operations that a TPU compiles, and the public names that end in another one.

`operations.tsv` is written by scripts/knowledge.py from the newest release; its blocks are
`compiled` (operation, and where a kernel does not take all of a TPU's dtypes, `attribute=`
those that it takes), `lacks` (dotted name, the dtypes of tensors that it takes and its kernel
does not), `uncompiled` (operation, h or n), `builds` (dotted name, operations), and what was typed
into `operations.toml`, which says how it reads: `dtypes` and `typed`.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
V1 = "tensorflow.compat.v1."
V2 = "tensorflow.compat.v2."
RAW = "tensorflow.raw_ops."
HOST = "h"


class BuiltOperation(NamedTuple):
    """An operation that a call of a public name builds and that is not compiled.

    host: it deals in strings, files, Python or the host's state, and certainly has no kernel;
    else another release of the compiler may have one. writer: only under a summary writer.
    """

    operations: tuple[str, ...]
    host: bool
    writer: bool = False


@functools.cache
def _blocks() -> dict[str, dict[str, str]]:
    blocks = {}
    for block in (HERE / "operations.tsv").read_text(encoding="utf-8").split("\n\n"):
        title, *lines = block.strip("\n").split("\n")
        blocks[title] = {name: rest for name, _, rest in (line.partition("\t") for line in lines)}
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
        row = _blocks()["typed"].get(name)
        if row is not None:
            listed, _, only_if = row.partition("\t")
            return BuiltOperation(tuple(listed.split(",")), True, only_if == "writer")
        derived = _blocks()["builds"].get(name)
        if derived is not None:
            operations = tuple(derived.split(","))
            return BuiltOperation(operations, all(map(_is_of_the_host, operations)))
        if name.startswith(RAW) and name[len(RAW) :] in _blocks()["uncompiled"]:
            operation = name[len(RAW) :]
            return BuiltOperation((operation,), _is_of_the_host(operation))
    return None


@functools.cache
def lacks(dotted: str) -> frozenset[str]:
    """Return the dtypes of tensors that the function takes and its device kernel does not."""
    rows = (_blocks()["lacks"].get(name) for name in _spellings(dotted))
    return frozenset(next((row.split(",") for row in rows if row is not None), ()))


def _is_of_the_host(operation: str) -> bool:
    return _blocks()["uncompiled"].get(operation, HOST) == HOST


# The table has one spelling of a name, and programs use several.
def _spellings(dotted: str) -> tuple[str, ...]:
    """Return the names under which the table may have it, the likeliest first."""
    if dotted.startswith(V2):
        return ("tensorflow." + dotted[len(V2) :],)
    if dotted.startswith(V1):
        return (dotted, "tensorflow." + dotted[len(V1) :])
    if dotted.startswith("tensorflow."):
        return (dotted, V1 + dotted[len("tensorflow.") :])
    _, shim, rest = dotted.partition(".compat.")
    return (V1 + rest, "tensorflow." + rest) if shim else ()
