"""The form of a pair in a TPUEstimatorSpec, and where a plain EstimatorSpec is evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tpulint.analysis.domain.events import MODEL_FN, ApiCall, Computation, Context
from tpulint.analysis.domain.objects import Mapping, Sequence, function_of
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.values import Value, options
from tpulint.analysis.domain.written_tests import tests
from tpulint.knowledge.seam import GIVES_ONE_TENSOR

EVALUATION = re.compile(r"EVAL\b|['\"]eval['\"]")
OTHER_MODE = re.compile(r"(?:TRAIN|PREDICT|INFER)\b|['\"](?:train|predict|infer)['\"]")
NEGATED = re.compile(r"!=|\bnot\b")


def pair_fault(computation: Computation, value: Value) -> str | None:
    """Return what TPUEstimatorSpec has against the pair, whichever value it is; None if nothing."""
    tensors = {id(each.result) for each in computation.calls if each.last in GIVES_ONE_TENSOR}
    found = [_fault(each, tensors) for each in options(value)]
    return found[0] if all(found) else None


def _fault(value: Value, tensors: set[int]) -> str | None:
    """`tensors` are the ids of values that are one tensor each."""
    if isinstance(value, Mapping):
        return "is a dict"
    if function_of(value) is not None:
        return "is a function without its tensors"
    if id(value) in tensors:
        return "is a tensor"
    if not isinstance(value, Sequence) or value.open:
        return None
    if len(value.items) != 2:
        return f"has {len(value.items)} elements"
    first, second = value.items
    if id(first) in tensors or isinstance(first, (Sequence, Mapping)):
        return "begins with something that is no function"
    if id(second) in tensors or function_of(second) is not None:
        return "has no list and no dict as its second element"
    return None


def plain_specifications(program: Program) -> Iterator[tuple[Computation, ApiCall, bool]]:
    """Yield each EstimatorSpec that a model_fn makes for evaluation on the TPU, and its certainty.

    Training takes one; whether a prediction runs on the TPU is seen too seldom.
    """
    evaluated = {id(feed.owner) for feed in program.feeds if feed.kind == "evaluate"}
    for computation in program.computations:
        if computation.kind == MODEL_FN and id(computation.call.result) in evaluated:
            for call in computation.calls:
                if call.last == "EstimatorSpec" and call.context.on_device:
                    sure = is_evaluated(computation, call.context)
                    if sure is not None:
                        yield computation, call, sure


def is_evaluated(computation: Computation, context: Context) -> bool | None:
    """Return whether an evaluation gets there for sure; None where it does not."""
    sure = not context.is_guess
    outside = set(tests(computation.context))
    for text, taken in tests(context):
        if (text, taken) in outside:
            continue
        asked = taken is (NEGATED.search(text) is None)
        if EVALUATION.search(text) and not OTHER_MODE.search(text):
            if not asked:
                return None
        elif OTHER_MODE.search(text) and not EVALUATION.search(text):
            if asked:
                return None
        else:
            sure = False
    return sure
