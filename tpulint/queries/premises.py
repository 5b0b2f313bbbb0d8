"""Certainty in a computation that may turn out to be no TPU's: what holds there all the same.

A strategy that is a parameter, a model_fn whose estimator is made elsewhere: the analysis does not
see that a TPU runs them. What calls the `tpu` module on the way is written for one.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.events import MODEL_FN, ApiCall, Computation, Context
from tpulint.finding import Certainty
from tpulint.knowledge import seam


def certainty_at(computation: Computation, context: Context) -> Certainty:
    """Return the certainty that what is built at `context` is a TPU's.

    It is certain, too, where each run that gets to a call for TPUs has been at `context`.
    """
    if computation.certainty is Certainty.DEFINITE:
        return Certainty.DEFINITE
    seen = any(context.reached_whenever(each) for each in _places_for_tpus(computation))
    return Certainty.DEFINITE if seen else Certainty.POSSIBLE


def certainty_of_trace(computation: Computation, context: Context) -> Certainty:
    """Return the certainty of a fault of every trace, whatever device it is made for.

    A tf.function traces what is in it under each strategy, as every Estimator does its model_fn.
    """
    if context.traced or computation.kind == MODEL_FN:
        return Certainty.DEFINITE
    return certainty_at(computation, context)


def _places_for_tpus(computation: Computation) -> Iterator[Context]:
    return (each.context for each in computation.calls if _is_for_tpus(each))


def _is_for_tpus(call: ApiCall) -> bool:
    """Return whether only code for TPUs makes this call: of the `tpu` module, or so named."""
    module = call.path.rpartition(".")[0].rpartition(".")[2]
    return call.last in seam.UNMISTAKABLE or module in seam.TPU_MODULES
