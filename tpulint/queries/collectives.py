"""Find collectives under traced control flow, and the condition that decides on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tpulint.absint.domain.context import AFTER_RETURN, Scope
from tpulint.absint.domain.events import ApiCall, Computation, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.structures import tensors, uniform
from tpulint.absint.domain.values import Const, External, Value
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import scope_strategy
from tpulint.ordering import Truth

# Keras' way to say that gradients are already summed, in older and newer releases.
ALONE = {"experimental_aggregate_gradients": False, "skip_gradients_aggregation": True}


def under_control(program: Program) -> Iterator[tuple[Computation, ApiCall, tuple[Scope, ...]]]:
    """Yield collectives of device code, each with the traced control flow around it."""
    for computation in program.computations:
        for call in computation.calls:
            waits = synchronizes(computation, call) or combines_copies(program, computation, call)
            if not waits or not call.context.on_device:
                continue
            # Also the tests whose other branch has returned, without a collective of its own.
            scopes = call.context.control() + tuple(
                scope
                for scope in call.context.with_blocks(AFTER_RETURN)
                if not any(
                    synchronizes(computation, other)
                    and any(around.site == scope.site for around in other.context.control())
                    for other in computation.calls
                )
            )
            if scopes:
                yield computation, call, scopes


GRADIENTS = frozenset(["gradients", "compute_gradients", "gradient"])


def collectives_with(computation: Computation, updates: list[ApiCall]) -> list[ApiCall]:
    """Return the collectives of the graph in which one place is: not those of another mode.

    updates: what was called at the place, each time that it was read.
    """
    return [
        call
        for call in computation.calls
        if call.last in tf_names.COLLECTIVES
        and not any(call.context.excludes(update.context) for update in updates)
    ]


def may_sum_gradients(
    computation: Computation, update: ApiCall, collectives: list[ApiCall]
) -> bool:
    """Return whether one of the collectives may sum what an optimizer applies.

    What is summed before gradients are taken (statistics, contrasts) is part of the loss. It is
    no sum of the gradients, however often it is differentiated.
    """
    start = _start_of_gradients(computation, update)
    return start is None or any(
        not isinstance(call.result, Tensor)
        or call.result.operation is None
        or call.result.operation.number > start
        # Replicas may average the variables that they trained.
        or any(isinstance(option, Variable) for it in call.arguments for option in it.value.options)
        for call in collectives
    )


def _start_of_gradients(computation: Computation, update: ApiCall) -> int | None:
    """Return the number of the last operation before gradients are taken; None if unseen."""
    taken: list[int | None]
    if update.last == "apply_gradients":
        taken = [
            _number(call.result)
            for call in computation.calls
            if call.last in GRADIENTS and not call.context.excludes(update.context)
        ]
        return None if not taken or None in taken else min(number for number in taken if number)
    taken = [_number(tensor) for it in update.arguments for tensor in tensors(it.value)]
    return max((number for number in taken if number), default=None)


def _number(value: Value) -> int | None:
    """Return the place of the first operation that made a part of `value`, in program order."""
    return min(
        (tensor.operation.number for tensor in tensors(value) if tensor.operation is not None),
        default=None,
    )


def synchronizes(computation: Computation, call: ApiCall) -> bool:
    """Return whether replicas wait for one another in `call`."""
    if call.last in tf_names.COLLECTIVES:
        return True
    if call.last not in ("apply_gradients", "minimize"):
        return False
    # With either argument the caller has summed the gradients itself.
    has_own_replica = any(
        argument.keyword in ALONE and argument.value == Const(ALONE[argument.keyword])
        for argument in call.arguments
    )
    wrapped = isinstance(call.receiver, ExternalObject) and naming.CROSS_SHARD.is_in(
        call.receiver.path
    )
    # A strategy's `apply_gradients` sums the gradients itself (optimizer_v2.py).
    return wrapped or (computation.kind in tf_names.STRATEGY_RUN and not has_own_replica)


ASSIGNMENTS = ("assign", "assign_add", "assign_sub")
COMBINED = ("MEAN", "ONLY_FIRST_REPLICA", "SUM")


def combines_copies(program: Program, computation: Computation, call: ApiCall) -> bool:
    """Return whether the call assigns a variable whose copies get one value, made of all replicas'.

    tensorflow/python/distribute/values_util.py, `on_write_assign`, by a `merge_call`.
    """
    variable = call.receiver
    return (
        call.last in ASSIGNMENTS
        and isinstance(variable, Variable)
        and computation.kind in tf_names.STRATEGY_RUN
        and scope_strategy(variable.made) is not None
        and variable_option(program, variable, "aggregation") in COMBINED
        and variable_option(program, variable, "synchronization") in ("NONE", "AUTO", "ON_WRITE")
    )


def deciding(scopes: Iterable[Scope]) -> list[Tensor | Variable]:
    """Return the tensors and variables that decide on traced control flow."""
    deciders: list[Tensor | Variable] = []
    for payload in (scope.payload for scope in scopes):
        if isinstance(payload, Value):
            deciders += [option for option in payload.options if isinstance(option, Variable)]
            deciders += tensors(payload)
    return deciders


def alike(decider: Tensor | Variable) -> Truth:
    """Return whether all replicas have the same of it."""
    if uniform([decider]):
        return Truth.YES
    has_own = isinstance(decider, Tensor) and decider.per_replica
    return Truth.NO if has_own else Truth.MAYBE


# Arguments of `tf.Variable`, of whose enumerations "NONE" is the default, with their positions.
OPTIONS = {"synchronization": 10, "aggregation": 11}


def variable_option(program: Program, variable: Variable, option: str) -> str | None:
    """Return the name of the enumeration member that was passed to `tf.Variable` as `option`.

    None where the variable was not made by `tf.Variable`, or something else was passed.
    """
    creation = next(iter(program.by_result.get(id(variable), ())), None)
    if creation is None or creation.last != "Variable":
        return None
    value = creation.value(option, OPTIONS[option])
    if value is None:
        return None if creation.is_starred else "NONE"
    return value.last if isinstance(value, External) else None
