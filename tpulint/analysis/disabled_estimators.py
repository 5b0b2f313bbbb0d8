"""Guessed model_fns of projects whose estimators all say, in so many words, `use_tpu=False`."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tpulint.analysis.domain.events import ApiCall, Computation
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.values import Const
from tpulint.disk import DISK, Disk

NAMED = b"TPUEstimator"


def drop(program: Program, disk: Disk = DISK) -> None:
    """Take the guesses away: what makes a TPUEstimatorSpec there is never compiled for a TPU."""
    says: dict[str, set[bool]] = {}
    for call in program.all_calls():
        if call.last == "TPUEstimator":
            says.setdefault(home_of(call.site.module.path, disk), set()).add(_refuses(call))
    without = {home for home, answers in says.items() if answers == {True}}
    if without:
        program.computations = [
            each
            for each in program.computations
            if not (_is_guess(each) and home_of(each.site.module.path, disk) in without)
        ]


def _refuses(call: ApiCall) -> bool:
    use_tpu = call.argument("use_tpu", 4)
    return use_tpu is not None and use_tpu.value == Const(False)


def _is_guess(computation: Computation) -> bool:
    """Return whether no estimator was seen that takes the model_fn (see `roots`)."""
    return computation.kind == "model_fn" and not computation.call.arguments


def names_estimators(data: bytes) -> bool:
    """Return whether these bytes name a TPUEstimator or a specification for one."""
    return NAMED in data


def by_home(paths: Iterable[str]) -> list[list[str]]:
    """Return the files that name estimators, those of each home together.

    Nothing need import one for the other: model_fns are found in registries, and by flags.
    """
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(home_of(path), []).append(path)
    return list(found.values())


def home_of(path: str, disk: Disk = DISK) -> str:
    """The folder of a module's outermost package, or its own."""
    folder = os.path.dirname(path)
    while disk.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder
