"""TPU710: each replica assigns its own value to its copy of a variable; nothing combines them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from tpulint.absint.domain.context import UNSEEN
from tpulint.absint.domain.events import ApiCall, Computation, Context, Tensor, Variable
from tpulint.absint.domain.objects import Instance
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE
from tpulint.diagnostics import traces
from tpulint.finding import Certainty, Severity
from tpulint.frontends.tensorflow.keras_models import CLASSES, keras_base
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import GRADIENTS, STATISTICS
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import SCOPE, scope_strategy
from tpulint.ordering import reachable
from tpulint.queries.certainty import on_tpu_if
from tpulint.queries.device_code import is_compiled
from tpulint.queries.strategies import is_on_replica
from tpulint.rules.base import Report, Rule, register
from tpulint.syntax.nodes import CallNode, last_name, walk

ADD_WEIGHT = "add_weight"
MAKERS = frozenset(["Variable", ADD_WEIGHT])
LAYERS = CLASSES | {"Layer"}
COMBINES = ("aggregation", "synchronization", "variable_def")
STEPS = 500  # operations that are asked where a value comes from


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
            by_operation: dict[int, str] = {}
            for call in computation.calls:
                drift = drift_of(program, call)
                if drift is None:
                    continue
                by_operation = by_operation or calls_by_operation(computation)
                certainty = certainty_of(computation, drift, by_operation)
                if certainty is None:
                    continue
                name = drift.variable.name
                report(
                    call.site.span,
                    f"`{name}` has a copy on each core, `{call.last}` writes a value of this"
                    " replica's data, and nothing combines the copies, so they drift apart: create"
                    " it with"
                    ' `aggregation="mean"` (`tf.VariableAggregation.MEAN`), or `all_reduce` the'
                    " value first",
                    certainty=certainty,
                    trace=(
                        traces.host_step(drift.creation, f"makes `{name}` without `aggregation`"),
                        *traces.path_to_site(
                            computation,
                            call.context,
                            call.site,
                            "writes its own value to its own copy",
                        ),
                    ),
                )


class Drift(NamedTuple):
    """An assignment of a replica's own value; `maker` made the variable, at `creation`."""

    context: Context
    value: Tensor
    variable: Variable
    made: Context
    maker: str
    creation: Site


def drift_of(program: Program, call: ApiCall) -> Drift | None:
    """Return the drift that a call causes: an assignment of a value of the replica's own data."""
    variable = call.receiver
    if call.last not in tf_names.ASSIGNS or not isinstance(variable, Variable):
        return None
    value = call.value("value" if call.last == "assign" else "delta", 0)
    if not isinstance(value, Tensor) or not value.split:
        return None
    if not is_compiled(call.context) or not is_on_replica(call.context):
        return None
    made = variable.made
    if made is None or scope_strategy(made) is None or made.computation is not None:
        return None
    creation = creation_of(program, variable)
    return Drift(call.context, value, variable, made, *creation) if creation else None


def creation_of(program: Program, variable: Variable) -> tuple[str, Site] | None:
    """Return what makes a variable, or a layer's weight, and does not say how to combine copies.

    A metric's are meant to differ.
    """
    call = next(iter(program.by_result.get(id(variable), ())), None)
    if call is None:
        return creation_in_build(variable.site)
    is_layers = isinstance(call.receiver, Instance) and keras_base(call.receiver) in LAYERS
    if call.last not in MAKERS or (call.last == ADD_WEIGHT and not is_layers):
        return None
    says_how = any(call.value(keyword) not in (None, NONE) for keyword in COMBINES)
    return None if says_how or call.is_starred else (call.last, call.site)


def creation_in_build(site: Site | None) -> tuple[str, Site] | None:
    """Return the creation of a variable in the `build` of a layer, which Keras calls unseen."""
    call = site.module.node_at(site.place, CallNode) if site is not None else None
    if call is None or site is None or last_name(call.callee) not in MAKERS:
        return None
    says_how = any(argument.star or argument.keyword in COMBINES for argument in call.arguments)
    is_in_build = any(
        function.name == "build" and any(node is call for node in walk(*function.body))
        for function in site.module.facts.functions_around(site.place)
    )
    return (last_name(call.callee), site) if is_in_build and not says_how else None


def certainty_of(
    computation: Computation, drift: Drift, names: Mapping[int, str]
) -> Certainty | None:
    """Return the certainty; None for gradients, which may be summed when they are applied.

    A statistic of the batch is meant to be one for all. Other values may be what each replica
    keeps for itself, as the state of a stream of data.
    """
    start = [] if drift.value.operation is None else [drift.value.operation]
    operations = reachable(start, lambda operation: operation.sources, id)
    sources = {names.get(id(operation), "") for operation in islice(operations, STEPS)}
    if sources & GRADIENTS:
        return None
    context = drift.context
    return on_tpu_if(
        computation,
        context,
        bool(sources & STATISTICS),
        # Some releases of Keras 3 combine all weights.
        drift.maker != ADD_WEIGHT,
        not drift.made.with_blocks(SCOPE, "")[0].is_uncertain,
        not context.with_blocks(UNSEEN),
        not drift.variable.assumed,
    )


def calls_by_operation(computation: Computation) -> dict[int, str]:
    """Return the last name of the call that built an operation, by the operation's identity."""
    return {
        id(call.result.operation): call.last
        for call in computation.calls
        if isinstance(call.result, Tensor) and call.result.operation is not None
    }
