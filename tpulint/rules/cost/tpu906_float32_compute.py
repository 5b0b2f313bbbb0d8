"""TPU906: a program that trains on TPUs never asks for bfloat16."""

from __future__ import annotations

from tpulint.absint.domain.context import NO_KNOWN_CALLER
from tpulint.absint.domain.events import ApiCall, Computation
from tpulint.absint.domain.values import Const
from tpulint.diagnostics import traces
from tpulint.file_facts import is_test
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.knowledge.tf_names import MODEL_FN
from tpulint.queries.certainty import definite_if
from tpulint.queries.launches import is_of_contrib, is_training_on_tpu, updates_weights
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

LOADS = ("load_data", "load", "builder")
# The other data of `tf.keras.datasets` are as small, and have no such name in `tfds`.
SMALL_DATA = frozenset(["mnist", "fashion_mnist", "cifar10", "cifar100", "iris"])


@register
class Float32Compute(Rule):
    code = "TPU906"
    name = "float32-compute"
    severity = Severity.PERFORMANCE
    summary = "a program that trains on TPUs in float32"

    def check(self, program: Program, report: Report) -> None:
        estimates = any(feed.kind == "train" for feed in program.feeds)
        training = [
            step
            for step in program.computations
            if is_training_on_tpu(step) or (estimates and is_training_model(step))
        ]
        if not training or any(module.has_word(naming.PRECISION) for module in program.modules):
            return
        first = min(
            training, key=lambda step: (step.certainty is not Certainty.DEFINITE, step.site.span)
        )
        context = first.context
        remedy = "call `tf.compat.v1.tpu.bfloat16_scope` around the model"
        if first.kind != MODEL_FN:
            remedy = "set the Keras policy `mixed_bfloat16`, or cast to `tf.bfloat16`"
            if is_of_contrib(program, context):
                return
        if trains_on_an_example(program):
            return
        report(
            first.site.span,
            "this program trains in float32: its activations take 4 bytes for each element, and"
            f" bfloat16 takes 2; {remedy}",
            certainty=definite_if(
                first.certainty is Certainty.DEFINITE,
                not context.is_guess,
                # Whoever starts the program was read, and all modules, which could set a policy.
                not context.is_inside(NO_KNOWN_CALLER),
                program.importers.keys() <= {module.path for module in program.modules},
            ),
            trace=(traces.host_step(first.site, "trains in float32"),),
            doubt="if a TPU trains, and no code outside the analysis sets a policy",
        )


def trains_on_an_example(program: Program) -> bool:
    """Return whether the program loads data of Keras' or `tfds` that any machine trains on."""
    return any(
        ".keras.datasets." in f".{call.path}"
        or (call.path.startswith("tensorflow_datasets.") and names_small_data(call))
        for call in program.named_any(LOADS)
        if not is_test(call.site.module.path)
    )


def names_small_data(call: ApiCall) -> bool:
    """Return whether a call of `tfds` names data that fit into a few megabytes."""
    name = call.value("name", 0)
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return False
    return name.value.partition("/")[0].partition(":")[0] in SMALL_DATA


def is_training_model(computation: Computation) -> bool:
    """Return whether this is a model_fn that has an optimizer."""
    if computation.kind != MODEL_FN or is_test(computation.site.module.path):
        return False
    return updates_weights(computation)
