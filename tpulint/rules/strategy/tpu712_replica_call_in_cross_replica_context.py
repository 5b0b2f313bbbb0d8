"""TPU712: what only a replica may do is done for all replicas at once, outside every `run`."""

from __future__ import annotations

from tpulint.absint.domain.context import DECORATED, NO_KNOWN_CALLER, UNSEEN, WITH, Scope
from tpulint.absint.domain.events import Access, ApiCall, Context
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.values import Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.branch_tests import asks_about, is_for_another
from tpulint.frontends.tensorflow.keras_models import is_optimizer
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.knowledge.strategies import SUMS_AND_DIFFERENCES
from tpulint.frontends.tensorflow.knowledge.tf_names import STRATEGY_RUN, is_tensorflow
from tpulint.frontends.tensorflow.strategy import EACH_REPLICA, SCOPE, Strategy, scope_strategy
from tpulint.queries.certainty import definite_if
from tpulint.queries.collectives import variable_option
from tpulint.queries.strategies import UPDATES
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

# tensorflow/python/distribute/distribute_lib.py, `ReplicaContext`
REPLICA_CONTEXT = "tensorflow.distribute.get_replica_context"
OF_CONTEXT = frozenset(["all_gather", "all_reduce", "merge_call"])
INSTEAD = "move it into the function that `strategy.run` is given"


@register
class ReplicaCallInCrossReplicaContext(Rule):
    code = "TPU712"
    name = "replica-call-in-cross-replica-context"
    severity = Severity.ERROR
    summary = "an update that only a replica may make, outside every run"

    def check(self, program: Program, report: Report) -> None:
        for call in program.named_any({*UPDATES, *OF_CONTEXT}):
            context = call.receiver
            if call.last in UPDATES and takes_replicas(call.receiver):
                under_scope(call, "sums the gradients of all replicas", report)
            # `get_replica_context()` gives None there. A test around it may be one of that.
            elif (
                isinstance(context, ExternalObject)
                and context.path == REPLICA_CONTEXT
                and call.last in OF_CONTEXT
                and not call.context.conditions
            ):
                under_scope(call, "needs the context of a replica", report)
        for access in program.accesses:
            strategy = scope_strategy(access.variable.made)
            if strategy is None or is_called_by_unseen(access.context):
                continue
            if access.how in UPDATES:
                under_none(program, access, strategy, report)
            else:
                written(program, access, strategy, report)


def takes_replicas(optimizer: Value | None) -> bool:
    """Return whether an optimizer, of Keras or of TensorFlow 1, refuses to work for all replicas.

    Those of TensorFlow 1: tensorflow/python/training/optimizer.py, `apply_gradients`.
    """
    return is_optimizer(optimizer) or (
        isinstance(optimizer, ExternalObject)
        and is_tensorflow(optimizer.path)
        and ".train." in optimizer.path
        and optimizer.last.endswith("Optimizer")
    )


def under_scope(call: ApiCall, does: str, report: Report) -> None:
    """Report a call under the scope, outside every `run`, of what works for one replica."""
    scope = open_scope(call.context)
    if scope is None or not isinstance(scope.payload, Strategy):
        return
    certainty = certainty_of(call.context, scope.payload, scope.is_uncertain)
    if certainty is None:
        return
    report(
        call.site.span,
        f"`{call.last}` {does}, but here no replica runs: the code is under `scope()` and in no"
        f" `run`: {INSTEAD}",
        certainty=certainty,
        trace=(
            traces.host_step(scope.site, "enters the scope, so code is for all replicas"),
            *traces.host_path(call, f"calls `{call.last}` for all replicas"),
        ),
    )


# keras/src/backend/tensorflow/optimizer.py, `_distributed_tf_update_step`: the default strategy
# assigns to the first copy; what makes variables there raises an error, as all of Keras 2 does.
def under_none(program: Program, access: Access, strategy: Strategy, report: Report) -> None:
    """Report that Keras' optimizer updates variables of the scope under no scope, in no `run`."""
    context = access.context
    if context.computation is not None or access.variable.sort == "step" or open_scope(context):
        return
    calls = [call for call in program.at.get(access.site, ()) if call.context == context]
    optimizer = next((call.receiver for call in calls if call.last == access.how), None)
    certainty = certainty_of(context, strategy, access.variable.assumed)
    if certainty is None or not is_optimizer(optimizer):
        return
    report(
        access.site.span,
        f"`{access.how}` is in no `run`, so no replica runs here: it raises an error, or updates"
        f" the first replica's copy of each variable alone; {INSTEAD}",
        certainty=certainty,
        trace=traces.host_path(access, "updates variables of the TPU in no replica"),
    )


def written(program: Program, access: Access, strategy: Strategy, report: Report) -> None:
    """Report a write of a variable of which each replica has a value of its own."""
    variable, context = access.variable, access.context
    creation = next(iter(program.by_result.get(id(variable), ())), None)
    if access.mode != "write" or creation is None or creation.last != "Variable":
        return
    if variable_option(program, variable, "synchronization") != "ON_READ":
        return
    # tensorflow/python/distribute/values_util.py, `on_read_assign_add_cross_replica`: a sum would
    # be added once for each replica. Without aggregation there is no way to share a value out.
    aggregation = variable_option(program, variable, "aggregation")
    is_sum = aggregation == "SUM" and access.how in SUMS_AND_DIFFERENCES
    certainty = certainty_of(context, strategy, False)
    if certainty is None or not (is_sum or aggregation == "NONE"):
        return
    report(
        access.site.span,
        f"each replica has a `{variable.name}` of its own, which only a replica may change by"
        f" `{access.how}`, but this is in no `run`: {INSTEAD}",
        certainty=certainty,
        trace=(
            traces.host_step(creation.site, "makes a variable that each replica keeps itself"),
            *traces.host_path(access, f"changes it by `{access.how}` for all replicas"),
        ),
    )


def open_scope(context: Context) -> Scope | None:
    """Return the strategy's scope that is entered on the way; None where a caller is not seen."""
    for scope in reversed(context.scopes):
        if scope.kind == NO_KNOWN_CALLER or (scope.kind == WITH and scope.effect == EACH_REPLICA):
            return None
        if scope.kind == WITH and scope.effect == SCOPE:
            return scope
    return None


def is_called_by_unseen(context: Context) -> bool:
    """Return whether a replica may run this: an unseen caller, or one that calls it on each."""
    if any(scope.effect == EACH_REPLICA for scope in context.scopes):
        return True
    return context.is_inside(NO_KNOWN_CALLER) and open_scope(context) is None


# `run` is not among them: methods of any class have that name.
RUNS = STRATEGY_RUN - {"run"}


def certainty_of(context: Context, strategy: Strategy, is_uncertain: bool) -> Certainty | None:
    """Return the certainty; None where the strategy is no TPU's, or a test asks who runs this."""
    if strategy.kind != "tpu" or is_for_another(context, strategy):
        return None
    # A class of the project may run this in place of a strategy: no scope is open.
    is_run_by_stand_in = any(step.name in RUNS for step in context.call_chain)
    if asks_about(context, naming.REPLICA) or is_run_by_stand_in:
        return None
    return definite_if(
        not is_uncertain,
        not context.is_guess and not context.hides_faults,
        not context.with_blocks(UNSEEN, "") and not context.with_blocks(DECORATED, ""),
    )
