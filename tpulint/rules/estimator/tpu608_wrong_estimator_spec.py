"""TPU608: a specification, a model_fn or an input_fn has a form that TPUEstimator refuses."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.events import ApiCall, Argument, Computation, Context, Tensor
from tpulint.absint.domain.objects import ExternalObject, Mapping, Sequence, function_of
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, Const, Partial, Value
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import for_tpus
from tpulint.frontends.tensorflow.arity import signature_of
from tpulint.frontends.tensorflow.branch_tests import asked, asks_about, is_for, words_of
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.queries.certainty import definite_if, doubt_about_guess, is_on_tpu, on_tpu_if
from tpulint.rules.base import Applicability, Program, Report, Rule, Severity, register

# Arguments of TPUEstimatorSpec without which it can only serve predictions.
NOT_TO_PREDICT = (("loss", 2), ("train_op", 3), ("eval_metrics", 4))
EVALUATION, PREDICTION = "evaluation", "prediction"
USES = {"evaluate": EVALUATION, "predict": PREDICTION}  # by what feeds them
MODES = {EVALUATION: naming.EVALUATION, PREDICTION: naming.PREDICTION}
WITH_METRICS = ", with `eval_metrics` in place of `eval_metric_ops`"


@register
class WrongEstimatorSpec(Rule):
    code = "TPU608"
    name = "wrong-estimator-spec"
    severity = Severity.ERROR
    summary = "a specification, model_fn or input_fn of a form that TPUEstimator refuses"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        _check_configurations(program, report)
        predicting = {id(feed.owner) for feed in program.feeds if feed.kind == "predict"}
        for computation in program.computations:
            if computation.kind != tf_names.MODEL_FN:
                continue
            # By identity: a method of one of these names may give something else.
            single_tensors = {
                id(call.result)
                for call in computation.calls
                if call.last in tf_names.GIVES_ONE_TENSOR and isinstance(call.result, Tensor)
            }
            for call in computation.calls:
                faults: list[tuple[Argument, str]] = []
                if call.last == "TPUEstimatorSpec":
                    faults += faults_of_pairs(call, single_tensors)
                    if id(computation.call.result) in predicting:
                        faults += fault_of_predictions(call, single_tensors)
                elif call.last == "EstimatorSpec":
                    faults += fault_of_scaffold(call)
                for argument, message in faults:
                    report(
                        argument.site.span,
                        message,
                        certainty=on_tpu_if(computation, call.context),
                        trace=traces.device_path(computation, call.context),
                    )
        check_params(program, report)
        for computation, spec, is_certain, use in plain_specifications(program):
            report(
                spec.site.span,
                f"`EstimatorSpec` is made here, but {use} on a TPU requires `TPUEstimatorSpec`:"
                f" return one{WITH_METRICS if use == EVALUATION else ''}",
                certainty=definite_if(is_certain, is_on_tpu(computation, spec.context)),
                trace=traces.path_to(computation, spec, "makes the specification"),
                fix=for_tpus(spec),
            )


def _check_configurations(program: Program, report: Report) -> None:
    """Check the class of an estimator's configuration: tpu_estimator.py, `__init__`."""
    for estimator in program.all_named(["TPUEstimator"]):
        argument = estimator.argument("config", 2)
        configs = () if argument is None else argument.value.options
        # Those of Estimator, without the settings of a TPU.
        plain = [
            config
            for config in configs
            if isinstance(config, ExternalObject)
            and tf_names.is_tensorflow(config.path)
            and config.path.endswith("estimator.RunConfig")
        ]
        is_from_tensorflow = tf_names.is_tensorflow(estimator.path)
        if is_from_tensorflow and argument is not None and len(plain) == len(configs):
            report(
                argument.site.span,
                "`config` is a `RunConfig` of Estimator, which TPUEstimator refuses: make a"
                " `tf.estimator.tpu.RunConfig`",
                certainty=definite_if(not estimator.context.is_guess),
                trace=tuple(
                    traces.host_step(config.site, "makes the configuration") for config in plain
                ),
            )


def faults_of_pairs(call: ApiCall, single_tensors: set[int]) -> Iterator[tuple[Argument, str]]:
    """Yield the arguments that are no pair of a function and its tensors, whichever they are."""
    for kind, position in tf_names.HOST_FUNCTIONS.items():
        argument = call.argument(kind, position)
        forms = [] if argument is None else _given_forms(argument.value, call.context)
        faults = [_fault(form, single_tensors) for form in forms]
        if argument is not None and faults and all(faults):
            yield (
                argument,
                f"`{kind}` {faults[0]}: TPUEstimator expects a pair of a function and the list or"
                " dict of its tensors; pass `(fn, [tensor])`",
            )


def _given_forms(value: Value, context: Context) -> list[Value]:
    """Return the values that the specification at `context` gets; none if that is not known.

    In some modes it may be None: what it is in the others is known if it is made for one of them.
    """
    alternatives = value.options
    if len(alternatives) == 1 or NONE not in alternatives:
        return list(alternatives)
    others = [option for option in alternatives if option != NONE]
    makers = [option.made for option in others if isinstance(option, Mapping)]
    is_for_some = is_for(context, naming.MODE) or asks_about(context, naming.EVALUATION)
    by_mode = len(makers) == len(others) and not is_for_some
    return others if by_mode and all(_asks_for_modes(made, context) for made in makers) else []


def _asks_for_modes(made: Context | None, context: Context) -> bool:
    """Return whether what leads to `made`, and not to `context`, asks for modes alone."""
    return made is not None and all(
        any(naming.MODE.is_in(word.name) for word in words_of(key))
        for key, _ in made.conditions - context.conditions
    )


def fault_of_predictions(call: ApiCall, single_tensors: set[int]) -> Iterator[tuple[Argument, str]]:
    """Yield what is wrong for `predict`: tpu_estimator.py, `_verify_tpu_spec_predictions`."""
    predictions = call.argument("predictions", 1)
    # Training or evaluation, which it may also serve, take any predictions. A test on the way may
    # rule out that the mode is PREDICT.
    if predictions is None or call.is_starred:
        return
    if any(call.value(*place) not in (None, NONE) for place in NOT_TO_PREDICT) or any(
        naming.PREDICTION.is_in(word.name) and branch is not word.is_affirmed
        for word, branch in asked(call.context)
    ):
        return
    is_no_dict = all(
        option.kind in ("list", "tuple")
        if isinstance(option, Sequence)
        else _is_tensor(option, single_tensors)
        for option in predictions.value.options
    )
    if is_no_dict:
        yield (
            predictions,
            "`predictions` is no dict, the only form that TPUEstimator takes on a TPU: pass"
            ' `{"name": tensor}`',
        )


def fault_of_scaffold(call: ApiCall) -> Iterator[tuple[Argument, str]]:
    """Yield what a plain specification gets in place of one: model_fn.py, `_validate_scaffold`."""
    scaffold = call.argument("scaffold", 8)
    if scaffold is not None and all(map(function_of, scaffold.value.options)):
        yield (
            scaffold,
            f"`scaffold` is {traces.callee_name(scaffold.value)}, a function, but `EstimatorSpec`"
            " takes a `tf.train.Scaffold`: pass the function as `scaffold_fn` of a"
            " `TPUEstimatorSpec`",
        )


def _is_tensor(value: Value, single_tensors: set[int]) -> bool:
    """Return whether this is one tensor, whichever of several it is."""
    return all(
        id(option) in single_tensors or (isinstance(option, Tensor) and option.single)
        for option in value.options
    )


def check_params(program: Program, report: Report) -> None:
    """Check that a model_fn and an input_fn take `params`."""
    for computation in program.computations:
        argument = computation.call.argument("model_fn", 0)
        if computation.call.last == "TPUEstimator" and argument is not None:
            context, function = computation.context, computation.callee
            _check_function("model_fn", function, context, argument.site, report)
    for feed in program.feeds:
        if isinstance(feed.owner, ExternalObject) and feed.function is not None:
            # The argument of `train` and its kin that is the input function, else the call.
            at = [call for call in program.at.get(feed.site, ()) if call.last == feed.kind]
            argument = at[0].argument("input_fn", 0) if at else None
            site = feed.site if argument is None else argument.site
            _check_function("input_fn", feed.function, feed.context, site, report)


def _check_function(
    kind: str, function: Value, context: Context, site: Site, report: Report
) -> None:
    if all(map(lacks_params, function.options)):
        report(
            site.span,
            f"{traces.callee_name(function)} is given as `{kind}` but takes no `params`:"
            " TPUEstimator passes the batch size in it; add the parameter",
            certainty=definite_if(not context.is_guess),
            doubt=doubt_about_guess(context),
        )


def lacks_params(function: Value) -> bool:
    """Return whether TPUEstimator finds no `params` among the arguments (`_call_input_fn`)."""
    while isinstance(function, Partial):  # what it fixes counts as absent
        function = function.function
    signature = signature_of(function)
    if signature is None or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values()
    ):
        return False
    return "params" not in signature.parameters


def _fault(value: Value, tensors: set[int]) -> str | None:
    """Return what TPUEstimatorSpec has against a pair; `tensors` are ids of single tensors."""
    if isinstance(value, Mapping):
        return "is a dict"
    if isinstance(value, Partial) or function_of(value) is not None:
        return "is a function without its tensors"
    if _is_tensor(value, tensors):
        return "is a tensor"
    if not isinstance(value, Sequence) or value.open:
        return None
    if len(value.items) != 2:
        return f"has {len(value.items)} elements"
    first, second = value.items
    if _is_tensor(first, tensors) or isinstance(first, (Sequence, Mapping)):
        return "does not begin with a function"
    if _is_tensor(second, tensors) or function_of(second) is not None:
        return "has neither a list nor a dict as its second element"
    return _fault_of_sent(second)


# tpu_estimator.py, `_OutfeedHostCall.record`: it asks each for its dtype.
def _fault_of_sent(sent: Value) -> str | None:
    """Return what is wrong with what goes to the host: a value of Python's has no dtype."""
    if isinstance(sent, Mapping):
        values = [item for key, item in sent.items.items() if key not in sent.maybe_absent]
    else:
        values = sent.items if isinstance(sent, Sequence) else []
    for value in values:
        if all(isinstance(option, (Sequence, Mapping)) for option in value.options):
            return "sends a list or a dict among the tensors, which has no dtype"
        if all(isinstance(option, Const) for option in value.options):
            return f"sends the Python value `{value.options[0]!r}`, which has no dtype"
    return None


# tpu_estimator.py, `convert_to_single_tpu_eval_step` and `convert_to_single_tpu_predict_step`:
# training accepts a plain EstimatorSpec, and they do not.
def plain_specifications(program: Program) -> Iterator[tuple[Computation, ApiCall, bool, str]]:
    """Yield each EstimatorSpec that a model_fn makes for another use on the TPU than training.

    With each come its certainty and the use.
    """
    uses = {(id(feed.owner), USES[feed.kind]) for feed in program.feeds if feed.kind in USES}
    for computation in program.computations:
        for use in USES.values() if computation.kind == tf_names.MODEL_FN else ():
            is_unsized = use == PREDICTION and not computation.predicts  # TPU610
            if is_unsized or (id(computation.call.result), use) not in uses:
                continue
            for call in computation.calls:
                if call.last == "EstimatorSpec" and call.context.on_device:
                    is_certain = is_used(computation, call.context, use)
                    if is_certain is not None:
                        yield computation, call, is_certain, use


def is_used(computation: Computation, context: Context, use: str) -> bool | None:
    """Return whether an evaluation or prediction gets there for sure; None where it does not."""
    is_certain = not context.is_guess
    mode = MODES[use]
    for key, branch in context.conditions - computation.context.conditions:
        words = list(words_of(key))
        modes = {
            (mode.is_in(word.name), branch is word.is_affirmed)
            for word in words
            if naming.MODE.is_in(word.name)
        }
        if modes in ({(True, False)}, {(False, True)}):
            return None  # a test of one mode, and this branch is not for evaluations
        is_certain = is_certain and (len(modes) == 1 or not words)
    return is_certain
