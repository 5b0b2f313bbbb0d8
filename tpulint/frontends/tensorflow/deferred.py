"""Read modules that were passed by on the host when what they give takes part in a TPU program.

It takes part where device code, an input pipeline or a strategy's scope uses it, and where it is
given a strategy, an estimator or a step: what it does with them is the program's.
"""

from __future__ import annotations

from dataclasses import replace

from tpulint.absint.domain import values
from tpulint.absint.domain.context import COMPUTATION, DATA, WITH
from tpulint.absint.domain.events import ApiCall, Context, Tensor
from tpulint.absint.domain.objects import Class, ExternalObject, Instance, function_of, mro
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import UNKNOWN, Bound, Choice, External, Opaque, Value, join
from tpulint.absint.interpreter import attributes, calls, operators
from tpulint.absint.interpreter.frame import Frame
from tpulint.absint.interpreter.session import Session
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.strategy import SCOPE, Strategy, is_of_tpu, scope_strategy

ESTIMATORS = frozenset(["TPUEstimator", "TPUEstimatorSpec"])


def is_in_program(context: Context) -> bool:
    """Return whether what is called at `context` is part of what a TPU program runs."""
    return any(
        scope.kind in (COMPUTATION, DATA)
        or (scope.kind == WITH and scope.effect == SCOPE and is_of_tpu(scope.payload))
        for scope in context.scopes
    )


def is_of_program(value: Value) -> bool:
    """Return whether an argument is a strategy, an estimator, a step or a model on a TPU."""
    if isinstance(value, Strategy):
        return value.kind != "other"
    if isinstance(value, ExternalObject):
        return value.last in ESTIMATORS or is_of_tpu(scope_strategy(value.context))
    if isinstance(value, Instance):
        return is_of_tpu(scope_strategy(value.context)) or any(
            isinstance(option, (Strategy, ExternalObject)) and is_of_program(option)
            for attribute in value.attributes.values()
            for option in attribute.options
        )
    if isinstance(value, Opaque):
        return isinstance(value.inferred_as.get(Strategy), Strategy)
    function = function_of(value)
    return function is not None and function.traced


def is_for_callers(value: Value | None) -> bool:
    """Return whether callers use it on a TPU.

    That is an estimator, a strategy or its scope, an object with one, or a model made under one.
    """
    held = value.attributes.values() if isinstance(value, Instance) else [value or UNKNOWN]
    return any(
        (isinstance(option, ExternalObject) and option.last == "TPUEstimator") or is_of_tpu(option)
        for attribute in held
        for option in attribute.options
    ) or any(
        isinstance(option, (ExternalObject, Instance)) and is_of_tpu(scope_strategy(option.context))
        for option in (value or UNKNOWN).options
    )


def with_deferred_call(record: ApiCall, callee: values.DeferredName, result: Value) -> Value:
    """Return the result of calling a name of a skipped module, with the call: it may be wanted."""
    is_unseen = isinstance(result, Tensor) and result.sort == "unseen"
    if result is UNKNOWN or (is_unseen and naming.HOST_CALL.is_in(callee.name)):
        result = ExternalObject(callee.path, record.site, record.context)
    if isinstance(result, ExternalObject):
        result.callee, result.call_arguments = callee, record.arguments
    return result


def with_deferred_method(record: ApiCall, receiver: ExternalObject, result: Value) -> Value:
    """Return the result of a method of what a skipped module gives, with the call."""
    is_unseen = isinstance(result, ExternalObject) and result.site is record.site
    if result is not UNKNOWN and not is_unseen:
        return result
    return ExternalObject(
        result.path if isinstance(result, ExternalObject) else record.path,
        record.site,
        record.context,
        callee=receiver.callee,
        call_arguments=record.arguments,
        whole=receiver,
    )


def force(frame: Frame, value: Value, site: Site) -> Value:
    """Return `value` with skipped modules read now: a function, or the result of calling one."""
    value = frame.session.force_load(value)
    if isinstance(value, Choice):
        return join(force(frame, option, site) for option in value.options)
    if isinstance(value, Bound) and isinstance(value.receiver, ExternalObject):
        receiver = force(frame, value.receiver, site)
        if isinstance(value.function, External) and receiver is not value.receiver:
            if isinstance(receiver, ExternalObject):
                return replace(value, receiver=receiver)
            return attributes.get(frame, receiver, value.function.last, site)
    if isinstance(value, ExternalObject) and value.callee is not None:
        return _result(frame, value)
    return value


def force_data(frame: Frame, element: Opaque, site: Site) -> None:
    """Read the code that made the dataset of which this is an element, or part of one."""
    part: Opaque | None = element
    while part is not None and part.iterated is None:
        part = part.parent
    if part is not None and part.iterated is not None:
        part.iterated = force(frame, part.iterated, site)


def _result(frame: Frame, deferred: ExternalObject) -> Value:
    """Return what the call gives: it is made once, where the program makes it."""
    if deferred.result is None:
        assert deferred.callee is not None
        deferred.result = deferred  # a module may ask for what it is about to make
        if deferred.whole is not None:
            deferred.result = _part_of(frame, deferred, _result(frame, deferred.whole))
            return deferred.result
        callee = frame.session.force_load(deferred.callee)
        if not isinstance(callee, External):
            with frame.at(deferred.context):
                result = calls.call(frame, callee, deferred.call_arguments, deferred.site)
            deferred.result = force(frame, result, deferred.site)
    return deferred.result


def _part_of(frame: Frame, part: ExternalObject, container: Value) -> Value:
    """Return the item of `container`, or what its method gives, that `part` stands for."""
    if container is part.whole:
        return part
    if part.index is not None:
        return operators.subscript(frame, container, part.index, part.site)
    is_dataset = isinstance(container, ExternalObject) and naming.DATASET.is_in(container.path)
    if not isinstance(container, Instance) and not is_dataset:
        return part
    with frame.at(part.context):
        method = attributes.get(frame, container, part.last, part.site)
        passed = tuple(
            argument._replace(value=force(frame, argument.value, argument.site))
            for argument in part.call_arguments
        )
        return force(frame, calls.call(frame, method, passed, part.site), part.site)


def complete(session: Session, cls: Class) -> None:
    """Read the base classes of `cls` whose modules were passed by."""
    if cls.is_complete:
        return
    for ancestor in mro(cls):
        if isinstance(ancestor, Class):
            ancestor.bases = tuple(
                loaded if isinstance(loaded, (Class, External)) else base
                for base in ancestor.bases
                for loaded in [session.force_load(base)]
            )
    for ancestor in mro(cls):
        if isinstance(ancestor, Class):
            ancestor.order = None
    cls.is_complete = True
