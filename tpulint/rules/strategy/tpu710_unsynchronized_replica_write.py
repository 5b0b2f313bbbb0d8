"""TPU710: each replica assigns its own value to its copy of a variable; nothing combines them."""

from __future__ import annotations

from itertools import islice

from tpulint.absint.domain.context import UNSEEN
from tpulint.absint.domain.events import ApiCall, Computation, Tensor, Variable
from tpulint.absint.domain.objects import Instance
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.keras_models import CLASSES, keras_base
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import GRADIENTS, STATISTICS
from tpulint.frontends.tensorflow.strategy import SCOPE, scope_strategy
from tpulint.ordering import reachable
from tpulint.queries.certainty import on_tpu_if
from tpulint.queries.device_code import is_compiled
from tpulint.queries.strategies import is_on_replica
from tpulint.rules.base import Program, Report, Rule, Severity, register
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
            if computation.kind in tf_names.STRATEGY_RUN:
                for call in computation.calls:
                    _check_write(program, computation, call, report)


def _check_write(program: Program, computation: Computation, call: ApiCall, report: Report) -> None:
    """Report an assignment of a value of the replica's own data."""
    variable, context = call.receiver, call.context
    if call.last not in tf_names.ASSIGNS or not isinstance(variable, Variable):
        return
    value = call.value("value" if call.last == "assign" else "delta", 0)
    if not isinstance(value, Tensor) or not value.split:
        return
    if not is_compiled(context) or not is_on_replica(context):
        return
    origin = variable.made
    if origin is None or scope_strategy(origin) is None or origin.computation is not None:
        return
    creation = creation_of(program, variable)
    if creation is None:
        return
    maker, site = creation
    sources = names_of_sources(computation, value)
    if sources & GRADIENTS:
        return  # they may be summed when they are applied
    report(
        call.site.span,
        f"`{variable.name}` has a copy on each core, `{call.last}` writes a value of this replica's"
        " data, and nothing combines the copies, so they drift apart: create it with"
        ' `aggregation="mean"` (`tf.VariableAggregation.MEAN`), or `all_reduce` the value first',
        certainty=on_tpu_if(
            computation,
            context,
            # A statistic of the batch is meant to be one for all. Other values may be what each
            # replica keeps for itself, as the state of a stream of data.
            bool(sources & STATISTICS),
            # Some releases of Keras 3 combine all weights.
            maker != ADD_WEIGHT,
            not origin.with_blocks(SCOPE, "")[0].is_uncertain,
            not context.with_blocks(UNSEEN),
            not variable.assumed,
        ),
        trace=(
            traces.host_step(site, f"makes `{variable.name}` without `aggregation`"),
            *traces.path_to(computation, call, "writes its own value to its own copy"),
        ),
    )


def names_of_sources(computation: Computation, value: Tensor) -> set[str]:
    """Return the last names of the calls of a computation that a value comes from."""
    names = {
        id(call.result.operation): call.last
        for call in computation.calls
        if isinstance(call.result, Tensor) and call.result.operation is not None
    }
    start = [] if value.operation is None else [value.operation]
    operations = islice(reachable(start, lambda operation: operation.sources, id), STEPS)
    return {names.get(id(operation), "") for operation in operations}


def creation_of(program: Program, variable: Variable) -> tuple[str, Site] | None:
    """Return what makes a variable, or a layer's weight, and does not say how to combine copies.

    The copies of a metric's weights are meant to differ.
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
