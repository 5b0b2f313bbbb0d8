"""Guessed model_fns of projects whose estimators all say, in so many words, `use_tpu=False`."""

from __future__ import annotations

from tpulint.analysis.domain.events import ApiCall, Computation
from tpulint.analysis.domain.values import Const
from tpulint.analysis.estimator_homes import home_of
from tpulint.disk import Disk
from tpulint.frontends.tensorflow.program import Program


def drop(program: Program, disk: Disk) -> None:
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
