"""The fixes that rules offer, by the subject of the rule.

The functions here import libcst, through `call_edits` and `block_edits`, only when they run.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.events import Access, ApiCall, Argument, Cluster, Computation
from tpulint.analysis.domain.objects import ExternalObject, Function, Sequence
from tpulint.analysis.domain.site import Module, Site
from tpulint.analysis.domain.values import Bound, Value
from tpulint.finding import Applicability, Fix, Span
from tpulint.frontends.tensorflow.arity import signature_of
from tpulint.queries.variable_conflicts import Conflict
from tpulint.syntax.expression_nodes import dotted_path
from tpulint.syntax.statement_nodes import Import, ImportFrom

# The name by which a module knows TensorFlow.

MODULES = {"tensorflow": "", "tensorflow.compat.v1": "v1", "tensorflow.compat.v2": "v2"}


def tensorflow_in(module: Module) -> str | None:
    """Return what comes before `.reshape` in the module; None where it does not import that."""
    return next((name for name, _ in imported(module)), None)


def first_api_in(module: Module) -> str | None:
    """Return what comes before `.tpu.CrossShardOptimizer`, a name of TensorFlow 1's API."""
    for name, generation in imported(module):
        return name if generation == "v1" else f"{name}.compat.v1"
    return None


def imported(module: Module) -> Iterator[tuple[str, str]]:
    """Yield the names of TensorFlow in the module with what they name, whole modules first."""
    body = module.facts.body
    aliases = [alias for each in body if isinstance(each, Import) for alias in each.names]
    parts = [each for each in body if isinstance(each, ImportFrom) and not each.level]
    for alias in aliases:
        if alias.name in MODULES:
            yield alias.asname or alias.name, MODULES[alias.name]
    for part in parts:
        for alias in part.names or ():
            if f"{part.module}.{alias.name}" in MODULES:
                yield alias.asname or alias.name, MODULES[f"{part.module}.{alias.name}"]


# Fixes of a call of outside_compilation.

OPENS = "outside_compilation"


def called_in_place(cluster: Cluster) -> Fix | None:
    """Return the fix that calls the host function without outside_compilation.

    Unsafe: the same line may also run where the cluster is wanted.
    """
    if cluster.kind != OPENS or cluster.site != cluster.named or cluster.call.site != cluster.site:
        return None
    from tpulint.diagnostics.call_edits import without_forwarding

    edits = without_forwarding(cluster.site)
    return None if edits is None else Fix(Applicability.UNSAFE, f"call it without `{OPENS}`", edits)


def function_passed(cluster: Cluster) -> Fix | None:
    """Return the fix that passes the function and its arguments instead of its result."""
    if cluster.given is None or cluster.given.keyword or cluster.given.star:
        return None
    from tpulint.diagnostics.call_edits import passed

    edits = passed(cluster.named, cluster.given.site)
    return (
        None
        if edits is None
        else Fix(Applicability.UNSAFE, "pass the function, then its arguments", edits)
    )


# The one edit that ends a conflict over a variable: read it on the device, pass the value.

READS = ("read_value", "value")


def of_conflict(conflict: Conflict) -> Fix | None:
    """Return the fix of a conflict between both sides."""
    return pass_by_value(conflict.computation, conflict.cluster, conflict.host)


def pass_by_value(computation: Computation, cluster: Cluster, host: Access) -> Fix | None:
    """Return the fix, where the variable itself is an argument of the cluster; else None.

    All of it must be in the file of the finding: the argument, and what the host
    function does with the variable, which must be reads only.
    """
    variable = host.variable
    if cluster.site != cluster.named:
        return None
    given = [each for each in cluster.arguments if each.value is variable]
    wanted = [
        each
        for each in computation.accesses
        if each.variable is variable and each.context.cluster is cluster
    ]
    module = host.site.module
    here = all(site.module is module for site in [each.site for each in wanted] + [cluster.site])
    if len(given) != 1 or not here or any(each.mode != "read" for each in wanted):
        return None
    if not all(_by_parameter(given[0], cluster, each) for each in wanted):
        return None
    from tpulint.diagnostics.call_edits import method_called, without_method

    edits = [
        method_called(module, given[0].site.span, "read_value"),
        *(without_method(each.site, each.how) for each in wanted if each.how in READS),
    ]
    if any(each is None for each in edits):
        return None
    message = f"read `{variable.name}` on the device and pass its value"
    unique = dict.fromkeys(edit for each in edits for edit in each or ())
    return Fix(Applicability.UNSAFE, message, tuple(unique))


def _by_parameter(argument: Argument, cluster: Cluster, access: Access) -> bool:
    """Return whether the host function takes the variable as its parameter only."""
    callee = cluster.callee.function if isinstance(cluster.callee, Bound) else cluster.callee
    direct = len(access.context.call_chain) == len(cluster.context.call_chain) + 1
    if not isinstance(callee, Function) or not direct:
        return False
    path = dotted_path(argument.node).split(".") if argument.node is not None else [""]
    seen = [name for name in {path[0], path[-1]} if name in callee.code.mentions]
    if len(path) > 1:
        return len(seen) < 2
    rows = callee.code.parameters
    names = [each.name for each in rows.named]
    return not seen or path[0] in names


# Fixes of the calls of the replicate family, and of gradients in them.

COLOCATE = "colocate_gradients_with_ops"


def colocated(gradient: ApiCall) -> Fix | None:
    """Return the fix that places gradients with their operations; a tape has no such option."""
    if gradient.last == "gradient":
        return None
    from tpulint.diagnostics.call_edits import with_keyword

    edits = with_keyword(gradient.site, COLOCATE, "True")
    return None if edits is None else Fix(Applicability.SAFE, f"pass `{COLOCATE}=True`", edits)


def a_list_each(inputs: Argument, computation: Value) -> Fix | None:
    """Return the fix that gives each replica a list of its own.

    A computation of one parameter has one element of the list a replica; one of as many
    parameters as there are elements runs once. Nothing else is clear enough.
    """
    value = inputs.value
    if not isinstance(value, Sequence) or value.open or value.kind != "list" or not value.items:
        return None
    count, taken = len(value.items), parameters(computation)
    if taken not in (1, count):
        return None
    from tpulint.diagnostics.call_edits import in_lists

    edits = in_lists(inputs.site, count, is_one=taken != 1)
    message = "give each replica a list of its inputs"
    return None if edits is None else Fix(Applicability.UNSAFE, message, edits)


def parameters(computation: Value) -> int | None:
    """Return how many arguments a computation takes; None where that is not one number."""
    signature = signature_of(computation)
    if signature is None:
        return None
    plain = [
        each
        for each in signature.parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        and each.default is each.empty
    ]
    return len(plain) if len(plain) == len(signature.parameters) else None


# Fixes of what a TPUEstimator is given.

WRAPPER = "CrossShardOptimizer"
# tensorflow_estimator/python/estimator/tpu/tpu_estimator.py: the fields of TPUEstimatorSpec.
FIELDS = frozenset(
    (
        "mode",
        "predictions",
        "loss",
        "train_op",
        "eval_metrics",
        "export_outputs",
        "scaffold_fn",
        "host_call",
        "training_hooks",
        "evaluation_hooks",
        "prediction_hooks",
    )
)


def in_cross_shard_optimizer(optimizer: object, update: Site) -> Fix | None:
    """Return the fix that wraps an optimizer where it is made, in the file of its update."""
    if not isinstance(optimizer, ExternalObject) or optimizer.site is None:
        return None
    made = optimizer.site
    api = first_api_in(made.module)
    if api is None or made.module is not update.module:
        return None
    from tpulint.diagnostics.call_edits import call_wrapped

    edits = call_wrapped(made, f"{api}.tpu.{WRAPPER}")
    return None if edits is None else Fix(UNSAFE, f"wrap it in `{WRAPPER}`", edits)


def with_batch_dimension(module: Module, span: Span) -> Fix | None:
    """Return the fix that gives a scalar a dimension of one; none for a list that holds it."""
    tf = tensorflow_in(module)
    if tf is None:
        return None
    from tpulint.diagnostics.call_edits import scalar_wrapped

    edits = scalar_wrapped(module, span, f"{tf}.reshape", "[1]")
    return None if edits is None else Fix(UNSAFE, "reshape it to `[1]`", edits)


def for_tpus(specification: ApiCall) -> Fix | None:
    """Return the fix that makes a TPUEstimatorSpec of an EstimatorSpec with the same fields."""
    arguments = specification.arguments
    api = first_api_in(specification.site.module)
    positional = [each for each in arguments if each.keyword is None]
    named = {each.keyword for each in arguments if each.keyword is not None}
    # `mode`, `predictions`, `loss` and `train_op` come first in both, in this order.
    if api is None or len(positional) > 4 or any(each.star for each in arguments):
        return None
    if not named <= FIELDS:
        return None
    from tpulint.diagnostics.call_edits import called_by_name

    edits = called_by_name(specification.site, f"{api}.estimator.tpu.TPUEstimatorSpec")
    return None if edits is None else Fix(UNSAFE, "make a `TPUEstimatorSpec`", edits)


def of_one_size(batch: ExternalObject) -> Fix | None:
    """Return the fix that drops a smaller last batch."""
    if batch.site is None:
        return None
    from tpulint.diagnostics.call_edits import with_keyword

    edits = with_keyword(batch.site, "drop_remainder", "True")
    return None if edits is None else Fix(UNSAFE, "drop the smaller last batch", edits)


# Fixes of programs that train under a TPUStrategy.

UNSAFE = Applicability.UNSAFE


def step_compiled(step: Value, run: Site) -> Fix | None:
    """Return the fix that decorates the step with `tf.function`, which `run` then compiles."""
    function = step.function if isinstance(step, Bound) else step
    if not isinstance(function, Function) or function.code.is_lambda:
        return None
    module = function.module
    tf = tensorflow_in(module)
    if tf is None or module is not run.module:
        return None
    row = module.span(function.code.place).start.row
    from tpulint.diagnostics.block_edits import decorated

    edits = decorated(module, function.name, row, f"{tf}.function")
    message = f"compile `{function.name}` with `{tf}.function`"
    return None if edits is None else Fix(UNSAFE, message, edits)


def without_scope(scope: Site) -> Fix | None:
    """Return the fix that takes away `with strategy.scope():`, and leaves its block."""
    from tpulint.diagnostics.block_edits import without_with

    edits = without_with(scope)
    return None if edits is None else Fix(UNSAFE, "remove the scope", edits)


def in_scope(made: Site) -> Fix | None:
    """Return the fix that puts a statement under the scope of the strategy that is named there."""
    from tpulint.diagnostics.block_edits import under_scope

    scoped = under_scope(made)
    if scoped is None:
        return None
    strategy, edits = scoped
    return Fix(UNSAFE, f"make it under `{strategy}.scope()`", edits)


def not_eager(switch: ApiCall, argument: Argument) -> Fix | None:
    """Return the fix that lets functions be compiled."""
    from tpulint.diagnostics.call_edits import made_false, without_keyword

    if argument.keyword is not None and switch.last == "compile":
        edits = without_keyword(switch.site, argument.keyword)
    else:
        (index,) = (i for i, each in enumerate(switch.arguments) if each is argument)
        edits = made_false(switch.site, index)
    return None if edits is None else Fix(UNSAFE, "do not run it eagerly", edits)


# The fix of a lambda that needs a name: a function with that of the variable it is for.


def named(lambda_: Site) -> Fix | None:
    """Return the fix that makes of `step = tf.function(lambda ...)` a decorated function `step`."""
    from tpulint.diagnostics.block_edits import defined

    found = defined(lambda_)
    if found is None:
        return None
    name, edits = found
    return Fix(Applicability.UNSAFE, f"make it the function `{name}`", edits)
