"""TPU104: a variable or layer is created again at each trace of the function given to `run`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tpulint.absint.domain.context import INIT_SCOPE, NO_KNOWN_CALLER
from tpulint.absint.domain.events import ApiCall, Computation, Context
from tpulint.absint.domain.site import Site
from tpulint.diagnostics.traces import path_to_site
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.queries.certainty import definite_if
from tpulint.queries.device_code import is_behind_guard
from tpulint.rules.base import Program, Report, Rule, Severity, register

# tensorflow/python/ops/stateful_random_ops.py: it keeps its state in a variable.
GENERATOR = "Generator"


@register
class VariableCreatedOnDevice(Rule):
    code = "TPU104"
    name = "variable-created-on-device"
    severity = Severity.ERROR
    summary = "a variable is created again inside the function given to run"

    def check(self, program: Program, report: Report) -> None:
        for computation in program.computations:
            if computation.kind not in tf_names.STRATEGY_RUN:
                continue
            # A tf.function is or may be around: a graph of one's own is built once. Only `run` is
            # TF2's name; the older ones are called in graph mode.
            has_no_caller = any(it.kind == NO_KNOWN_CALLER for it in computation.context.scopes)
            may_be_traced = has_no_caller and computation.kind == "run"
            for creation in creations(computation):
                context, does = creation.context, f"creates {creation.words}"
                if not (context.traced or may_be_traced) or is_kept(computation, context):
                    continue
                inner = context.forks - computation.context.conditions
                report(
                    creation.site.span,
                    f"{creation.words} is created again at each trace of the function given to"
                    " `run`: create it once, outside that function",
                    # A branch inside the step may be taken at the first trace only.
                    certainty=definite_if(context.traced, not inner, not context.is_guess),
                    trace=path_to_site(computation, context, creation.site, does),
                )


class Creation(NamedTuple):
    """`words` say what is made at `site`, with its article."""

    words: str
    site: Site
    context: Context


def creations(computation: Computation) -> Iterator[Creation]:
    """Variables, and objects of TensorFlow's classes that own variables.

    A layer makes them when it is called first: one that is not called makes none.
    """
    for access in computation.accesses:
        if access.mode == "create" and access.variable.sort == "variable":
            yield Creation(f"the variable `{access.variable.name}`", access.site, access.context)
    # Keras creates the weights of a layer in its first call (`Layer._maybe_build`).
    built = {access.variable.site for access in computation.accesses}
    for call in computation.calls:
        owner = owner_of_variables(call)
        if owner is not None and (owner != "layer" or call.site in built):
            yield Creation(f"the {owner} `{call.last}`", call.site, call.context)


def owner_of_variables(call: ApiCall) -> str | None:
    """Return what the call makes, a "layer" or "metric", if that owns variables."""
    parts = call.path.split(".")
    if call.receiver is not None or len(parts) < 3:
        return None
    if GENERATOR in parts and tf_names.is_tensorflow(call.path):
        return "generator" if parts[-1] == GENERATOR or parts[-1].startswith("from_") else None
    if "keras" not in parts:
        return None
    if parts[-1] in tf_names.LAYERS_WITH_WEIGHTS:
        return "layer"
    if parts[-1][:1].isupper():
        # Classes are capitalized: `keras.metrics.mean_squared_error` is a function and owns
        # nothing.
        return {"optimizers": "optimizer", "metrics": "metric"}.get(parts[-2])
    return None


def is_kept(computation: Computation, context: Context) -> bool:
    """Return whether something makes it once only: a test of its holder, `build`, init_scope.

    A test around the step itself says nothing of what each of its traces makes.
    """
    inside = context.call_chain[len(computation.context.call_chain) :]
    return (
        is_behind_guard(computation, context)
        or bool(context.with_blocks(INIT_SCOPE))
        or any(call.name in tf_names.BUILD_METHODS for call in inside)
    )
