"""TPU710: each replica assigns its own value to its copy of a variable; nothing combines them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from tpulint.absint.domain.context import UNSEEN
from tpulint.absint.domain.events import ApiCall, Computation, Operation, Tensor, Variable
from tpulint.absint.domain.objects import Instance
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE
from tpulint.diagnostics import traces
from tpulint.diagnostics.traces import device_path, device_step
from tpulint.finding import HOST_LANE, Certainty, Severity
from tpulint.frontends.tensorflow.keras_models import CLASSES, keras_base
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import GRADIENTS, STATISTICS
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import SCOPE, scope_strategy
from tpulint.ordering import reachable
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.queries.device_code import is_compiled
from tpulint.queries.strategies import is_on_replica
from tpulint.rules.base import Report, Rule, register
from tpulint.syntax.nodes import CallNode, last_name, walk

ADD_WEIGHT = "add_weight"
BUILD = "build"
MAKERS = frozenset(["Variable", ADD_WEIGHT])
LAYERS = CLASSES | {"Layer"}
COMBINES = ("aggregation", "synchronization", "variable_def")
STEPS = 500  # operations that are asked where a value comes from


class VariableCreation(NamedTuple):
    """The call that makes a variable: its last name, its site, and what it says of combining."""

    last: str
    site: Site
    says_how: bool


class Drift(NamedTuple):
    """An assignment of a replica's own value, and the call that made the variable."""

    call: ApiCall
    variable: Variable
    made: VariableCreation


@register
class UnsynchronizedReplicaWrite(Rule):
    code = "TPU710"
    name = "unsynchronized-replica-write"
    severity = Severity.WARNING
    summary = "a variable whose copies drift apart, because each replica assigns its own value"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            if computation.kind not in tf_names.STRATEGY_RUN:
                continue
            by_operation: dict[int, str] | None = None
            for call in computation.calls:
                drift = drift_of(program, call)
                if drift is None:
                    continue
                if by_operation is None:
                    by_operation = calls_by_operation(computation)
                certainty = certainty_of(computation, drift, by_operation)
                if certainty is not None:
                    say(computation, drift, certainty, report)


def say(computation: Computation, drift: Drift, certainty: Certainty, report: Report) -> None:
    call, name = drift.call, drift.variable.name
    report(
        call.site.span,
        f"`{name}` has a copy on each core, `{call.last}` writes a value of this replica's data,"
        " and nothing combines the copies, so they drift apart: create it with"
        ' `aggregation="mean"` (`tf.VariableAggregation.MEAN`), or `all_reduce` the value first',
        certainty=certainty,
        trace=(
            traces.step(HOST_LANE, drift.made.site, f"makes `{name}` without `aggregation`"),
            *device_path(
                computation,
                call.context,
                device_step(call.site, "writes its own value to its own copy"),
            ),
        ),
    )


def drift_of(program: Program, call: ApiCall) -> Drift | None:
    """Return the drift that a call causes: an assignment of a value of the replica's own data."""
    variable = call.receiver
    if call.last not in tf_names.ASSIGNS or not isinstance(variable, Variable):
        return None
    value = call.argument("delta" if call.last != "assign" else "value", 0)
    if value is None or not isinstance(value.value, Tensor) or not value.value.split:
        return None
    if not is_compiled(call.context) or not is_on_replica(call.context):
        return None
    if variable.made is None or scope_strategy(variable.made) is None:
        return None
    creation = creation_of(program, variable)
    if creation is None or creation.says_how or variable.made.computation is not None:
        return None
    return Drift(call, variable, creation)


def creation_of(program: Program, variable: Variable) -> VariableCreation | None:
    """Return the creation of a variable, or of a layer's weight: a metric's are meant to differ."""
    call = next(iter(program.by_result.get(id(variable), ())), None)
    if call is None:
        return creation_in_build(variable.site)
    if call.last not in MAKERS or (call.last == ADD_WEIGHT and not is_layers(call)):
        return None
    combinations = [call.argument(keyword) for keyword in COMBINES]
    says_how = any(argument is not None and argument.value != NONE for argument in combinations)
    return VariableCreation(
        call.last, call.site, says_how or any(argument.star for argument in call.arguments)
    )


def creation_in_build(site: Site | None) -> VariableCreation | None:
    """Return the creation of a variable in the `build` of a layer, which Keras calls unseen."""
    call = site.module.node_at(site.place, CallNode) if site is not None else None
    if call is None or site is None or last_name(call.callee) not in MAKERS:
        return None
    for function in site.module.facts.functions_around(site.place):
        if function.name == BUILD and any(node is call for node in walk(*function.body)):
            says_how = any(
                argument.star or argument.keyword in COMBINES for argument in call.arguments
            )
            return VariableCreation(last_name(call.callee), site, says_how)
    return None


def is_layers(creation: ApiCall) -> bool:
    """Return whether a weight is that of a layer: a metric's are meant to differ."""
    return isinstance(creation.receiver, Instance) and keras_base(creation.receiver) in LAYERS


def certainty_of(
    computation: Computation, drift: Drift, names: Mapping[int, str]
) -> Certainty | None:
    """Return the certainty; None for gradients, which may be summed when they are applied.

    A statistic of the batch is meant to be one for all. Other values may be what each replica
    keeps for itself, as the state of a stream of data.
    """
    value = drift.call.arguments[0].value
    assert isinstance(value, Tensor)
    sources = names_of_sources(value.operation, names)
    if sources & GRADIENTS:
        return None
    creation = drift.variable.made
    assert creation is not None
    scope = creation.with_blocks(SCOPE, "")[0]
    context = drift.call.context
    return definite_if(
        bool(sources & STATISTICS),
        # Some releases of Keras 3 combine all weights.
        drift.made.last != ADD_WEIGHT,
        is_on_tpu(computation, context) and not scope.is_uncertain,
        not context.is_guess and not context.with_blocks(UNSEEN),
        not drift.variable.assumed,
    )


def calls_by_operation(computation: Computation) -> dict[int, str]:
    """Return the last name of the call that built an operation, by the operation's identity."""
    return {
        id(call.result.operation): call.last
        for call in computation.calls
        if isinstance(call.result, Tensor) and call.result.operation is not None
    }


def names_of_sources(operation: Operation | None, names: Mapping[int, str]) -> set[str]:
    """Return the names of the calls that a value comes from."""
    starts = [] if operation is None else [operation]
    operations = reachable(starts, lambda operation: operation.sources, id)
    return {names.get(id(operation), "") for operation in islice(operations, STEPS)}
