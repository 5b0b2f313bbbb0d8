"""Dispatch a call to the first family of models that knows its name; else it is an operation."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property, lru_cache

from tpulint.analysis.domain.events import ApiCall, Argument, Variable
from tpulint.analysis.domain.objects import ExternalObject, Instance, Mapping, Sequence
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import UNKNOWN, Const, DeferredName, External, Opaque, Value
from tpulint.analysis.interpreter.expected_failures import is_expected, unrecorded
from tpulint.analysis.interpreter.frame import Frame
from tpulint.analysis.models import (
    builtins,
    clusters,
    collectives,
    control,
    datasets,
    deferred_modules,
    entry_points,
    estimators,
    feeds,
    keras_layers,
    keras_steps,
    mains,
    methods,
    nests,
    operations,
    optimize_loss,
    side_effects,
    strategies,
    tensor_constants,
    variable_scopes,
    variables,
)
from tpulint.analysis.models.call import Answer, Call
from tpulint.analysis.models.frozen_arguments import snapshot
from tpulint.analysis.options import Settings
from tpulint.frontends.tensorflow.hooks import Hooks
from tpulint.knowledge import seam, trace_time

WRAPPED = External("tensorflow.compat.v1.tpu.outside_compilation")

# The last names of the calls that a family can answer, where it goes by these.
NAMED: dict[Answer, Collection[str]] = {
    side_effects.answer: trace_time.NAMES,
    clusters.answer: seam.OUTSIDE_COMPILATION,
    entry_points.answer: entry_points.ANSWERED,
    estimators.answer: estimators.ANSWERED,
    keras_layers.answer: keras_layers.ANSWERED,
    datasets.answer: seam.DATASET_METHODS,
    mains.answer: frozenset(path.rpartition(".")[2] for path in mains.RUNS),
    variable_scopes.answer: variable_scopes.ANSWERED,
    control.answer: control.ANSWERED,
    collectives.answer: seam.REPLICA_ID | seam.COLLECTIVES,
    builtins.answer: builtins.ANSWERED,
    nests.answer: nests.ANSWERED,
    tensor_constants.answer: tensor_constants.ANSWERED,
    optimize_loss.answer: optimize_loss.ANSWERED,
    feeds.answer: feeds.ANSWERED,
    variables.answer: variables.ANSWERED,
}
# The kinds of receivers of which a family can answer any method.
OF_RECEIVERS: dict[Answer, tuple[type[Value], ...]] = {
    methods.answer: methods.RECEIVERS,
    keras_steps.answer: keras_steps.RECEIVERS,
    variables.answer: (Variable,),
    variables.answer_unseen: (Opaque,),
}


class Families(tuple[Answer, ...]):
    """Families of models, in the order in which they are asked."""

    @cached_property
    def _asked(self) -> dict[tuple[str, type], tuple[Answer, ...]]:
        return {}

    def asked(self, name: str, receiver: type) -> tuple[Answer, ...]:
        """Return those that may answer a call of this name, of a receiver of this kind."""
        found = self._asked.get((name, receiver))
        if found is None:
            found = tuple(each for each in self if may_answer(each, name, receiver))
            self._asked[name, receiver] = found
        return found


def may_answer(family: Answer, name: str, receiver: type) -> bool:
    """Return whether a family can answer a call; one that no table says anything of can."""
    if family not in NAMED and family not in OF_RECEIVERS:
        return True
    return name in NAMED.get(family, ()) or issubclass(receiver, OF_RECEIVERS.get(family, ()))


# Receivers with methods of their own come first, then the seam, then the rest.
FAMILIES = Families(
    (
        side_effects.answer,
        methods.answer,
        clusters.answer,
        entry_points.answer,
        estimators.answer,
        feeds.answer,
        keras_layers.answer,
        keras_steps.answer,
        datasets.answer,
        strategies.answer,
        mains.answer,
        variables.answer,
        variable_scopes.answer,
        control.answer,
        collectives.answer,
        builtins.answer,
        nests.answer,
        tensor_constants.answer,
        optimize_loss.answer,
        operations.answer,
    )
)
# For a callee that is not seen only what its name says for sure counts.
UNSEEN = Families(
    (
        clusters.answer,
        entry_points.answer,
        estimators.answer,
        strategies.answer,
        variables.answer_unseen,
        collectives.answer,
        optimize_loss.answer,
    )
)


class Models(Hooks):
    """The models of TensorFlow's calls, for an interpreter."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._wrappers = frozenset(each.rpartition(".")[2] for each in settings.wrappers)

    def wrapper(self, named: str, callee: Value) -> External | None:
        """Return outside_compilation where a configured wrapper of it is called."""
        if not self._wrappers:
            return None
        last = callee.last if isinstance(callee, External) else named
        return WRAPPED if last in self._wrappers else None

    def call(
        self,
        frame: Frame,
        callee: External,
        receiver: Value | None,
        args: tuple[Argument, ...],
        site: Site,
    ) -> Value:
        """Return the result of calling `callee`, with its meaning for the lanes written down."""
        record = ApiCall(callee.path, site, frame.context, args, receiver, UNKNOWN)
        if is_expected(record.last):
            with unrecorded(frame):
                return operations.run_given(Call(frame, record))
        found = _ask(frame, record, FAMILIES) or UNKNOWN
        if isinstance(callee, DeferredName):
            frame.session.passed.add((callee.base.path, callee.path))
            found = deferred_modules.kept(record, callee, found)
        return _recorded(frame, record, found)

    def call_object(
        self, frame: Frame, callee: ExternalObject, args: tuple[Argument, ...], site: Site
    ) -> Value:
        """Return the result of calling an object of an outside class."""
        return operations.call_object(frame, callee, args, site)

    def call_unknown(
        self, frame: Frame, callee: Value, args: tuple[Argument, ...], site: Site, named: str
    ) -> Value:
        """Return the result of calling something that is not seen."""
        receiver: Value | None = callee if isinstance(callee, Instance) else None
        if isinstance(callee, Opaque):
            receiver = callee.parent
        path = callee.path if isinstance(callee, Opaque) else named or "?"
        record = ApiCall(path, site, frame.context, args, receiver, UNKNOWN)
        if is_expected(record.last):
            with unrecorded(frame):
                return operations.run_given(Call(frame, record))
        built = keras_layers.called(frame, callee, args, site)
        if built is not None:
            return built
        found = _ask(frame, record, UNSEEN)
        if found is None:
            found = operations.unseen(Call(frame, record))
        return _recorded(frame, record, found)


def _recorded(frame: Frame, record: ApiCall, found: Value) -> Value:
    """Keep for the rules what the call was given, and not what becomes of it."""
    if not frame.context.muted:
        record.arguments = snapshot(record.arguments)
    return found


def _builds_nothing(record: ApiCall) -> bool:
    """Return whether the call itself builds no operation: Python, logging, scopes."""
    of_python = isinstance(record.receiver, (Sequence, Mapping, Const))
    return of_python or _names_no_operation(record.path)


@lru_cache(maxsize=4096)
def _names_no_operation(path: str) -> bool:
    last = path.rpartition(".")[2]
    return builtins.knows(path) or last in seam.SCOPES or "logging" in path


def _ask(frame: Frame, record: ApiCall, families: Families) -> Value | None:
    context = frame.context
    if not context.muted:
        computation = context.computation
        (computation.calls if computation else frame.session.program.calls).append(record)
        if not _builds_nothing(record):
            frame.may_build()
    call = Call(frame, record)
    for family in families.asked(call.name, type(call.receiver)):
        found = family(call)
        if found is not None:
            record.result = found
            return found
    return None
