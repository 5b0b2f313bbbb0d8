"""How certain a finding in device code is: the facts that a rule gives to `definite_if`.

Where device code is comes first, and is answered by `device_code`: `compiled_calls(program)` are
the calls that a TPU compiles, `is_compiled(context)` asks the same of any place.

How sure that is comes second. A finding is definite only if everything it says is a fact:

- `is_on_tpu(computation, context)`: a TPU runs what is built there, not another device. Most rules
  need this one.
- `is_compiled_for_tpu(program, computation, context)`: a TPU even compiles it. For rules about
  single operations, which a soft placement or a block that is not seen may move to the host.
- `is_in_every_trace(computation, context)`: for faults of every trace, whatever device it is for.
- `not context.is_guess`: no function or value on the way is one of several that may be meant.
  `on_tpu_if` and `compiled_if` add this to the first two.
- whatever else the rule says: that a value is known, that one place is reached with another.
"""

from __future__ import annotations

from tpulint.absint.domain.context import GUESSES, UNSEEN, cover
from tpulint.absint.domain.events import Access, ApiCall, Computation, Context
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.branch_tests import texts_compared
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.tf_names import MODEL_FN
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.device_code import entered_effects, soft_placement

MODES = tf_names.TRAINING | tf_names.EVALUATION | tf_names.PREDICTION


def definite_if(*facts: bool) -> Certainty:
    """Return DEFINITE where all that a finding says is a fact."""
    return Certainty.DEFINITE if all(facts) else Certainty.POSSIBLE


def is_on_tpu(computation: Computation, context: Context) -> bool:
    """Return whether what is built at `context` certainly is a TPU's.

    A strategy that is a parameter, or a model_fn whose estimator is made elsewhere, may be another
    device's. Its code is a TPU's all the same where each run that gets to a call for TPUs has been
    at `context`.
    """
    if computation.certainty is Certainty.DEFINITE:
        return True
    for_tpus = (call.context for call in computation.calls if _is_for_tpus(call))
    return any(map(context.reached_whenever, for_tpus))


def is_in_every_trace(computation: Computation, context: Context) -> bool:
    """Return whether `context` is certainly traced, for whatever device.

    A tf.function traces what is in it under each strategy, as every Estimator does its model_fn.
    """
    return context.traced or computation.kind == MODEL_FN or is_on_tpu(computation, context)


def is_compiled_for_tpu(program: Program, computation: Computation, context: Context) -> bool:
    """Return whether a TPU certainly compiles an operation that is built at `context`."""
    if UNSEEN in entered_effects(context) or soft_placement(program, computation):
        return False
    return is_on_tpu(computation, context)


def on_tpu_if(computation: Computation, context: Context, *facts: bool) -> Certainty:
    """Return DEFINITE where a TPU certainly runs what is built at `context`, and facts hold."""
    return definite_if(*facts, not context.is_guess, is_on_tpu(computation, context))


def is_for_one_setting(computation: Computation, context: Context) -> bool:
    """Return whether `context` is reached only with one text for a setting that is not seen.

    Classes refuse the settings that no TPU can run in their constructor, or in their documentation.
    """
    return any(
        branch is text.is_affirmed and text.name not in MODES
        for key, branch in context.conditions - computation.context.conditions
        for text in texts_compared(key)
    )


def compiled_if(
    program: Program, computation: Computation, context: Context, *facts: bool
) -> Certainty:
    """Return DEFINITE where a TPU certainly compiles what is built at `context`, and facts hold."""
    is_for_tpu = is_compiled_for_tpu(program, computation, context)
    is_certain = is_for_tpu and not is_for_one_setting(computation, context)
    return definite_if(*facts, not context.is_guess, is_certain)


def is_guessed(context: Context, computation: Computation) -> bool:
    """Return whether it depends on which of several things is meant here, in device code."""
    return any(
        key.kind in GUESSES for key, _ in context.conditions - computation.context.conditions
    )


def is_met_anyway(access: Access, computation: Computation) -> bool:
    """Return whether a call accesses the variable whichever of several things it is made on."""
    touch = (access.variable, access.site, access.how)
    alike = [it.context for it in computation.accesses if (it.variable, it.site, it.how) == touch]
    tests = frozenset((key, at) for key, at in access.context.conditions if key.kind not in GUESSES)
    return cover(alike, access.context._replace(conditions=tests))


def doubt_about(program: Program, computation: Computation, context: Context) -> str:
    """Return what settles whether a TPU compiles what is built at `context`; "" where it does."""
    if context.is_guess:
        return doubt_about_guess(context)
    if soft_placement(program, computation):
        return "unless soft device placement is on"
    if UNSEEN in entered_effects(context):
        return "unless the `with` block around it moves it to the host"
    if is_on_tpu(computation, context):
        return doubt_about_setting(computation, context)
    if computation.kind == MODEL_FN:
        return f"if a TPUEstimator runs this `{MODEL_FN}` on a TPU"
    return f"if the strategy of `{computation.kind}` is a TPU's"


def doubt_about_setting(computation: Computation, context: Context) -> str:
    """Return what settles whether a TPU gets to the branch of a setting; "" where it is in none."""
    return "if a TPU is run with this setting" if is_for_one_setting(computation, context) else ""


def doubt_about_guess(context: Context) -> str:
    """Return what settles whether `context` is reached; "" where it is no guess."""
    names = [call.name for call in context.call_chain]
    where = f" of `{names[-1]}`" if names else ""
    return f"if this code{where} is the one of several that is run" if context.is_guess else ""


def _is_for_tpus(call: ApiCall) -> bool:
    """Return whether only code for TPUs makes this call: of the `tpu` module, or so named."""
    module = call.path.rpartition(".")[0].rpartition(".")[2]
    return call.last in tf_names.UNMISTAKABLE or module in tf_names.TPU_MODULES
