"""TPU613: variables get initializers from a checkpoint inside the computation of a TPU."""

from __future__ import annotations

from tpulint.absint.domain.events import ApiCall, Computation
from tpulint.absint.domain.structures import all_tensors
from tpulint.absint.domain.values import NONE
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.branch_tests import leaves_tpu
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.queries.certainty import definite_if
from tpulint.queries.device_code import device_calls, is_compiled
from tpulint.queries.entry_calls import estimator_of, may_use_tpu, surely_uses_tpu
from tpulint.rules.base import Program, Report, Rule, Severity, register

# tensorflow/python/training/checkpoint_utils.py and warm_starting_util.py: both replace the
# initializers of variables by operations that they make where they are called.
RESTORES = ("init_from_checkpoint", "warm_start")
HOMES = ("train", "framework", "checkpoint_utils", "warm_starting_util")


@register
class RestoreOutsideScaffold(Rule):
    code = "TPU613"
    name = "restore-outside-scaffold"
    severity = Severity.ERROR
    summary = "init_from_checkpoint in the model_fn of a TPU, outside scaffold_fn"

    def check(self, program: Program, report: Report) -> None:
        # Where a `scaffold_fn` restores variables; a branch for GPUs may call it, too.
        in_scaffolds = {
            call.site
            for computation in program.computations
            for call in computation.calls
            if call.last in RESTORES and not is_compiled(call.context)
        }
        # Soft placement changes nothing: what is made in the computation cannot be run alone.
        for computation, call in device_calls(program):
            if call.last not in RESTORES or computation.kind != tf_names.MODEL_FN:
                continue
            estimator, context = computation.call, call.context
            # TensorFlow's function is called, and no method of that name.
            is_restore = call.path.rpartition(".")[0].rpartition(".")[2] in HOMES
            if not is_restore or leaves_tpu(context) or not may_use_tpu(estimator):
                continue
            if call.site in in_scaffolds and context.conditions:
                continue
            # The first call that runs the estimator is where the variables are made.
            fed = [feed for feed in program.feeds if estimator_of(program, feed) is estimator]
            report(
                call.site.span,
                f"`{call.last}` makes initializers that are part of the TPU computation, and"
                " running them fails: call it in a function and pass that as `scaffold_fn` of"
                " TPUEstimatorSpec",
                certainty=definite_if(
                    surely_uses_tpu(estimator),
                    not estimator.context.is_guess,
                    not context.is_guess,
                    not computation.host_modes,
                    is_model_built(computation, call),
                ),
                doubt="unless no variable exists yet, and nothing is restored",
                trace=(
                    *(traces.host_step(feed.site, "initializes the variables") for feed in fed[:1]),
                    *traces.path_to(computation, call, "makes initializers of variables"),
                ),
            )


def is_model_built(computation: Computation, restore: ApiCall) -> bool:
    """Return whether something is seen that may make variables before they are restored."""
    for call in computation.calls:
        if call is restore:
            return False
        values = [call.receiver or NONE, *(argument.value for argument in call.arguments)]
        if call.last in tf_names.VARIABLE_MAKERS or all_tensors(values):
            return True
    return True
