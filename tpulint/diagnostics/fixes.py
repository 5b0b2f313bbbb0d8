"""The fixes that rules offer, by the subject of the rule.

They name changes of the syntax tree. These are made, and libcst is loaded, only for findings that
are shown.
"""

from __future__ import annotations

from tpulint.absint.domain.events import Access, ApiCall, Argument, Cluster, Computation
from tpulint.absint.domain.objects import ExternalObject, Sequence, function_of
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.values import Value
from tpulint.diagnostics.fix import WORD
from tpulint.finding import Applicability, Change, Fix, Span
from tpulint.frontends.tensorflow.arity import signature_of
from tpulint.frontends.tensorflow.knowledge.tf_names import words
from tpulint.queries.environment import imported
from tpulint.syntax.nodes import dotted_path

SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE


def change_at(site: Site | Span, function: str, *arguments: str | int | None) -> Change:
    """Return the change that `function` makes at a place."""
    span = site if isinstance(site, Span) else site.span
    return Change(function, span.start, span.end, arguments)


def unsafe(message: str, *changes: Change) -> Fix:
    return Fix(UNSAFE, message, changes=changes)


def without_argument(
    call: Site, keyword: str | None, message: str, applicability: Applicability
) -> Fix:
    """Return the fix that drops an argument of a call."""
    return Fix(applicability, message, changes=(change_at(call, "without_keyword", keyword),))


# The name by which a module knows TensorFlow.

FIRST_API = "tensorflow.compat.v1"
MODULES = ("tensorflow", FIRST_API, "tensorflow.compat.v2")


def tensorflow_in(module: Module) -> str | None:
    """Return what comes before `.reshape` in the module; None where it does not import that."""
    return next((name for path, name in imported(module) if path in MODULES), None)


def first_api_in(module: Module) -> str | None:
    """Return what comes before `.tpu.CrossShardOptimizer`, a name of TensorFlow 1's API."""
    for path, name in imported(module):
        if path in MODULES:
            return name if path == FIRST_API else f"{name}.compat.v1"
    return None


# Fixes of a call of outside_compilation.

OPENS = "outside_compilation"


def called_in_place(cluster: Cluster, *, is_only_place: bool = False) -> Fix | None:
    """Return the fix that calls the host function without outside_compilation.

    Unsafe, unless the line runs in this place only: elsewhere the cluster may be wanted.
    """
    if cluster.kind != OPENS or cluster.site != cluster.named or cluster.call.site != cluster.site:
        return None
    change = change_at(cluster.site, "without_forwarding")
    kind = SAFE if is_only_place else UNSAFE
    return Fix(kind, f"call it without `{OPENS}`", changes=(change,))


def function_passed(cluster: Cluster) -> Fix | None:
    """Return the fix that passes the function and its arguments instead of its result."""
    if cluster.given is None or cluster.given.keyword or cluster.given.star:
        return None
    call = cluster.given.site.span
    change = change_at(cluster.named, "passed", *call.start, *call.end)
    return unsafe("pass the function, then its arguments", change)


# The one edit that ends a conflict over a variable: read it on the device, pass the value.

READS = ("read_value", "value")


def by_value(host: str, mode: str) -> str:
    """Return how a value gets to a host function, or from it, without a variable."""
    if mode == "write":
        return "return the value from there, and assign it on the device"
    return f"pass its value to {host} as an argument"


def pass_by_value(computation: Computation, cluster: Cluster, host: Access) -> Fix | None:
    """Return the fix, where the variable itself is an argument of the cluster; else None.

    All of it must be in the file of the finding: the argument, and what the host
    function does with the variable, which must be reads only.
    """
    variable, module = host.variable, host.site.module
    passed = [argument for argument in cluster.arguments if argument.value is variable]
    wanted = [
        access
        for access in computation.accesses
        if access.variable is variable and access.context.cluster is cluster
    ]
    is_here = all(site.module is module for site in (cluster.site, *(it.site for it in wanted)))
    if cluster.site != cluster.named or len(passed) != 1 or not is_here:
        return None
    if not all(it.mode == "read" and _by_parameter(passed[0], cluster, it) for it in wanted):
        return None
    reads = [it for it in wanted if it.how in READS]
    return unsafe(
        f"read `{variable.name}` on the device and pass its value",
        change_at(passed[0].site, "method_called", "read_value"),
        *(change_at(read.site, "without_method", read.how) for read in reads),
    )


def _by_parameter(argument: Argument, cluster: Cluster, access: Access) -> bool:
    """Return whether the host function takes the variable as its parameter only."""
    callee = function_of(cluster.callee)
    direct = len(access.context.call_chain) == len(cluster.context.call_chain) + 1
    if callee is None or not direct:
        return False
    path = dotted_path(argument.node).split(".") if argument.node is not None else [""]
    seen = [name for name in {path[0], path[-1]} if name in callee.code.mentions]
    if len(path) > 1:
        return len(seen) < 2
    return not seen or path[0] in [parameter.name for parameter in callee.code.parameters.named]


# Fixes of the calls of the replicate family, and of gradients in them.

COLOCATE = "colocate_gradients_with_ops"


def colocated(gradient: ApiCall) -> Fix | None:
    """Return the fix that places gradients with their operations; a tape has no such option."""
    if gradient.last == "gradient":
        return None
    change = change_at(gradient.site, "with_keyword", COLOCATE, "True")
    return Fix(SAFE, f"pass `{COLOCATE}=True`", changes=(change,))


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
    change = change_at(inputs.site, "in_lists", count, taken != 1)
    return unsafe("give each replica a list of its inputs", change)


def parameters(computation: Value) -> int | None:
    """Return how many arguments a computation takes; None where that is not one number."""
    signature = signature_of(computation)
    if signature is None:
        return None
    plain = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]
    return len(plain) if len(plain) == len(signature.parameters) else None


# Fixes of what a TPUEstimator is given.

WRAPPER = "CrossShardOptimizer"
# tensorflow_estimator/python/estimator/tpu/tpu_estimator.py: the fields of TPUEstimatorSpec.
FIELDS = words("""
    mode predictions loss train_op eval_metrics export_outputs scaffold_fn host_call training_hooks
    evaluation_hooks prediction_hooks
""")


def in_cross_shard_optimizer(optimizer: object, update: Site) -> Fix | None:
    """Return the fix that wraps an optimizer where it is made, in the file of its update."""
    if not isinstance(optimizer, ExternalObject) or optimizer.site is None:
        return None
    creation = optimizer.site
    api = first_api_in(creation.module)
    if api is None or creation.module is not update.module:
        return None
    change = change_at(creation, "call_wrapped", f"{api}.tpu.{WRAPPER}")
    return unsafe(f"wrap it in `{WRAPPER}`", change)


def with_batch_dimension(module: Module, span: Span) -> Fix | None:
    """Return the fix that gives a scalar a dimension of one; none for a list that holds it."""
    tf = tensorflow_in(module)
    if tf is None:
        return None
    return unsafe("reshape it to `[1]`", change_at(span, "scalar_wrapped", f"{tf}.reshape", "[1]"))


def for_tpus(specification: ApiCall) -> Fix | None:
    """Return the fix that makes a TPUEstimatorSpec of an EstimatorSpec with the same fields."""
    api = first_api_in(specification.site.module)
    keywords = [argument.keyword for argument in specification.arguments]
    named = {keyword for keyword in keywords if keyword is not None}
    # `mode`, `predictions`, `loss` and `train_op` come first in both, in this order.
    if api is None or keywords.count(None) > 4 or specification.is_starred or not named <= FIELDS:
        return None
    name = f"{api}.estimator.tpu.TPUEstimatorSpec"
    change = change_at(specification.site, "called_by_name", name)
    return unsafe("make a `TPUEstimatorSpec`", change)


def of_one_size(batch: ExternalObject, *, is_never_short: bool) -> Fix | None:
    """Return the fix that drops a smaller last batch; safe where there is none."""
    if batch.site is None:
        return None
    change = change_at(batch.site, "with_keyword", "drop_remainder", "True")
    kind = SAFE if is_never_short else UNSAFE
    return Fix(kind, "drop the smaller last batch", changes=(change,))


# Fixes of programs that train under a TPUStrategy.


def step_compiled(step: Value, run: Site) -> Fix | None:
    """Return the fix that decorates the step with `tf.function`, which `run` then compiles."""
    function, tf = function_of(step), tensorflow_in(run.module)
    if function is None or tf is None:
        return None
    if function.code.is_lambda or function.module is not run.module:
        return None
    place = function.module.span(function.code.place)
    change = change_at(place, "decorated", function.name, f"{tf}.function")
    return unsafe(f"compile `{function.name}` with `{tf}.function`", change)


def without_scope(scope: Site) -> Fix:
    """Return the fix that takes away `with strategy.scope():`, and leaves its block."""
    return unsafe("remove the scope", change_at(scope, "without_with"))


def in_scope(creation: Site) -> Fix:
    """Return the fix that puts a statement under the scope of the strategy that is named there."""
    return unsafe(f"make it under `{WORD}.scope()`", change_at(creation, "under_scope"))


def not_eager(switch: ApiCall, argument: Argument) -> Fix:
    """Return the fix that lets functions be compiled."""
    if argument.keyword is not None and switch.last == "compile":
        change = change_at(switch.site, "without_keyword", argument.keyword)
    else:
        (index,) = (i for i, passed in enumerate(switch.arguments) if passed is argument)
        change = change_at(switch.site, "made_false", index)
    return unsafe("do not run it eagerly", change)


# The fix of a lambda that needs a name: a function with that of the variable it is for.


def named(lambda_: Site) -> Fix:
    """Return the fix that makes of `step = tf.function(lambda ...)` a decorated function `step`."""
    change = change_at(lambda_, "defined")
    return Fix(SAFE, f"make it the function `{WORD}`", changes=(change,))
