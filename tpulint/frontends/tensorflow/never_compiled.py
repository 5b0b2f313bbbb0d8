"""Drop what never runs on a TPU, although a TPU's program leads to it.

Branches of a model_fn that return a plain EstimatorSpec: a TPUEstimator evaluates and predicts on
the TPU by a TPUEstimatorSpec only, and refuses any other. On the host it takes both. For training
an EstimatorSpec will do.

Guessed model_fns of projects whose estimators all say, in so many words, `use_tpu=False`.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from tpulint.absint.domain.context import ConditionKey, cover
from tpulint.absint.domain.events import ApiCall, Computation, Context
from tpulint.absint.domain.values import Const, Opaque
from tpulint.disk import Disk
from tpulint.frontends.tensorflow.file_facts import home_of
from tpulint.frontends.tensorflow.knowledge.tf_names import (
    EVALUATION,
    MODEL_FN,
    PREDICTION,
    TRAINING,
)
from tpulint.frontends.tensorflow.program import Program

PLAIN, TPUS = "EstimatorSpec", "TPUEstimatorSpec"
Condition = tuple[ConditionKey, object]


class Placed(Protocol):
    """Something that happens at a place of a computation."""

    @property
    def context(self) -> Context: ...


P = TypeVar("P", bound=Placed)


# tensorflow_estimator/python/estimator/tpu/tpu_estimator.py, `convert_to_single_tpu_eval_step`:
# it refuses a plain EstimatorSpec, and so does the step that predicts.
def drop_refused_branches(program: Program) -> None:
    """Take away what happens in branches that return a plain specification, but for these."""
    for computation in program.computations:
        if computation.kind == MODEL_FN:
            branches = _Branches(computation)
            if branches.plain:
                _drop(computation, branches)


def _drop(computation: Computation, branches: _Branches) -> None:
    computation.calls = [
        called
        for called in computation.calls
        if called.last == PLAIN or not branches.contains(called.context)
    ]
    computation.accesses = branches.without(computation.accesses)
    computation.clusters = branches.without(computation.clusters)
    computation.uses = branches.without(computation.uses)
    computation.context_changes = branches.without(computation.context_changes)
    computation.dependencies = branches.without(computation.dependencies)
    computation.inner = branches.without(computation.inner)
    computation.updates = branches.without(computation.updates)
    computation.effects = branches.without(computation.effects)


class _Branches:
    """The branches of a model_fn from which every way leads to a plain EstimatorSpec."""

    def __init__(self, computation: Computation) -> None:
        self._around = computation.context.conditions
        self.plain = [
            called.context
            for called in computation.calls
            if called.last == PLAIN and self._is_not_training(called.context)
        ]
        self._tpus = [called.context for called in computation.calls if called.last == TPUS]
        self._answers: dict[frozenset[Condition], bool] = {}

    def without(self, events: list[P]) -> list[P]:
        """Return what happens elsewhere."""
        return [event for event in events if not self.contains(event.context)]

    def contains(self, context: Context) -> bool:
        """Return whether `context` is in such a branch."""
        answer = self._answers.get(context.conditions)
        if answer is None:
            answer = self._answers[context.conditions] = self._is_refused(context)
        return answer

    def _is_refused(self, context: Context) -> bool:
        return (
            self._is_not_training(context)
            and cover(self.plain, context)
            and all(_exclude_each_other(place, context) for place in self._tpus)
        )

    def _is_not_training(self, context: Context) -> bool:
        return any(_denies_training(*condition) for condition in context.conditions - self._around)


def _denies_training(key: ConditionKey, branch: object) -> bool:
    """Return whether a test of the mode has an answer that it has not in training."""
    if not isinstance(key.answer, Opaque):
        return False
    return key.answer.compared in (EVALUATION | PREDICTION if branch else TRAINING)


def _exclude_each_other(context: Context, other: Context) -> bool:
    """Return whether no call of the model_fn reaches both places."""
    answers = dict(context.conditions)
    differ = any(answers.get(key, branch) != branch for key, branch in other.conditions)
    return differ or context.excludes(other)


# A model_fn that no seen estimator takes is guessed at, by the specification that it makes.
def drop_disabled_estimators(program: Program, disk: Disk) -> None:
    """Take the guesses away: what makes a TPUEstimatorSpec there is never compiled for a TPU."""
    says: dict[str, set[bool]] = {}
    for call in program.all_calls():
        if call.last == "TPUEstimator":
            says.setdefault(home_of(call.site.module.path, disk), set()).add(_refuses(call))
    without = {home for home, answers in says.items() if answers == {True}}
    if without:
        program.computations = [
            computation
            for computation in program.computations
            if not (
                _is_guess(computation) and home_of(computation.site.module.path, disk) in without
            )
        ]


def _refuses(call: ApiCall) -> bool:
    use_tpu = call.argument("use_tpu", 4)
    return use_tpu is not None and use_tpu.value == Const(False)


def _is_guess(computation: Computation) -> bool:
    """Return whether no estimator was seen that takes the model_fn (see `roots`)."""
    return computation.kind == "model_fn" and not computation.call.arguments
