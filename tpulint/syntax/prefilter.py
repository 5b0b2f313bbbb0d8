"""Decide by its bytes whether a file can matter at all: most files are never parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tpulint.knowledge.seam import SIGN_CLASSES, SIGNS

# Cheap screens first: every sign holds one of these.
_SCREENS = (b"tpu", b"TPU", b"Tpu", b"outside_compilation", b"trategy", b"split_compile")
_RUNS = (
    b".run(",
    b".experimental_run_v2(",
    b".experimental_run(",
    b".call_for_each_replica(",
)
_TRAINS = (b".fit(", b".compile(", b"_on_batch(", b".evaluate(", b".predict(")
_STRATEGY = re.compile(rb"(?:strategy|distribution|replicator)\w*(?:\.extended)?$", re.IGNORECASE)
_BEFORE = 48  # bytes before a `.run(` or `.scope(` in which its receiver's name is
# `TPUEstimatorSpec(...)`, `spec = tpu.TPUEstimatorSpec`, `run(TPUStrategy, ...)`; no prose.
_MAKES = re.compile(
    rb"(?:TPUEstimator(?:Spec)?|TPUStrategy\w*|TPUDistributionStrategy|TpuReplicator)\s*\("
    rb"|[=(,][ \t]*[\w.()]*\b(?:TPUEstimator(?:Spec)?|TPUStrategy\w*)\b[ \t]*(?:[\n,)#]|if\b)"
)
_CALLS = re.compile(rb"tpu\w*\.(?:replicate|rewrite|shard|batch_parallel)\b")
# It begins with letters, and looks behind them for others: so it is searched as fast as they are.
_IMPORTS = re.compile(
    rb"tpu(?<!\wtpu)\w*\s+import\b[^\n]*\b(?:replicate|rewrite|shard|batch_parallel)\b"
)


# `strategy = strategy_utils.get_strategy(...)`: a strategy that another module may make for a TPU.
_OBTAINS = re.compile(
    rb"(?:strategy|distribution|replicator)\w*[ \t]*=[ \t]*(?!tf\.|tensorflow\.)"
    rb"[\w.]*\b[a-z0-9_]*(?:strategy|replicator)[a-z_]*\("
)

# Words that a module must hold to be read because another one imports it: the seam, collectives,
# or arrays that grow; or records, in which strategies and functions are handed on.
_MATTERS = (b"merge_call", b"cross_replica_sum", b"all_reduce", b"dynamic_size")
_RECORDS = (b"namedtuple(", b"NamedTuple", b"@dataclass", b"dataclasses.dataclass")
_LARGE = 20_000  # bytes: what a larger module holds is not mainly records
_KERAS_OBJECTS = (b"Model(", b"Sequential(", b".applications.", b".optimizers.", b".metrics.")


def may_matter(data: bytes) -> bool:
    """Return whether an imported module with these bytes can change a finding."""
    if passes(data) or any(word in data for word in _MATTERS):
        return True
    return len(data) < _LARGE and any(word in data for word in _RECORDS)


def opens_clusters(data: bytes, wrappers: Iterable[str] = ()) -> bool:
    """Return whether host clusters are opened here: then everything that is called matters."""
    names = [wrapper.rpartition(".")[2].encode() for wrapper in wrappers]
    return any(name in data for name in [b"outside_compilation", *names])


def builds_computations(data: bytes) -> bool:
    """Return whether computations are built here by hand: then what this module imports matters."""
    return bool(_CALLS.search(data) or _IMPORTS.search(data))


def makes_keras_objects(data: bytes) -> bool:
    """Return whether Keras models, optimizers or metrics are made here, perhaps under no scope."""
    return b"keras" in data and any(word in data for word in _KERAS_OBJECTS)


def makes_tpu_strategy(data: bytes) -> bool:
    """Return whether a TPUStrategy is made here: then what its `run` calls matters."""
    return b"TPUStrategy(" in data


def passes(data: bytes, wrappers: Iterable[str] = ()) -> bool:
    """Return whether `data` names the seam, or a configured wrapper."""
    for wrapper in wrappers:
        if wrapper.rpartition(".")[2].encode() in data:
            return True
    if not any(screen in data for screen in _SCREENS):
        return False
    if any(sign in data for sign in SIGNS):
        return True
    if any(sign in data for sign in SIGN_CLASSES) and _MAKES.search(data):
        return True
    named = b"trategy" in data or b"istribution" in data or b"eplicator" in data
    if named and _is_called_on_a_strategy(data, _RUNS):
        return True
    trains = named and any(word in data for word in _TRAINS)  # a Keras model, made in a scope
    if trains and _is_called_on_a_strategy(data, (b".scope(",)):
        return True
    if named and _OBTAINS.search(data):
        return True
    return b"tpu" in data and bool(_CALLS.search(data) or _IMPORTS.search(data))


def _is_called_on_a_strategy(data: bytes, words: Iterable[bytes]) -> bool:
    """Return whether one of the methods is called on what is named like a strategy."""
    for word in words:
        found = data.find(word)
        while found >= 0:
            if _STRATEGY.search(data[max(found - _BEFORE, 0) : found]):
                return True
            found = data.find(word, found + 1)
    return False
