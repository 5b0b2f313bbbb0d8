"""`TPUEstimator`, and the host functions of a `TPUEstimatorSpec`."""

from __future__ import annotations

import re

from tpulint.absint.domain import objects, structures, values
from tpulint.absint.domain.context import INIT_SCOPE, WITH, ConditionKey, Scope, cover
from tpulint.absint.domain.events import ApiCall, Argument, Arguments, Computation, Context
from tpulint.absint.domain.objects import ExternalObject, Instance, Mapping, Sequence, function_of
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, External, Opaque, Value, join
from tpulint.absint.interpreter import transfer
from tpulint.frontends.tensorflow.branch_tests import NO_TPU, are_answered_differently
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.models.clusters import open_cluster
from tpulint.frontends.tensorflow.models.entry_points import trace
from tpulint.frontends.tensorflow.models.table import Call, model
from tpulint.frontends.tensorflow.program import Program

NOT_TENSORS = frozenset(["mode", "params", "config", "hparams", "self"])
# The tensors that an Estimator passes by name, and that a model_fn passes to what specifies it.
OF_MODEL_FNS = frozenset(["features", "labels", "loss", "total_loss", "logits"])
MAY_BE_ABSENT = "?"  # the star of what a dict may lack


ESTIMATOR = "TPUEstimator"


# tensorflow_estimator/python/estimator/tpu/tpu_estimator.py; projects copy it into themselves.
@model("?.TPUEstimator")
def _estimator(call: Call) -> Value:
    """Read the model_fn as a computation, unless it has the literal `use_tpu=False`."""
    estimator = call.new_object()
    params = call.force(call.get("params", 3) or NONE).options
    estimator.attributes["params"] = join(_copy_params(call, option) for option in params)
    use_tpu = call.get("use_tpu", 4)
    model_fn = call.get("model_fn", 0)
    if model_fn is None:
        return estimator
    if use_tpu in NO_TPU or _is_made_for_either(call, model_fn):
        call.frame.session.known(model_fn)
        estimator.attributes["use_tpu"] = Const(False)
        return estimator
    host_modes = tf_names.EVALUATION if call.get("eval_on_tpu", 9) == Const(False) else frozenset()
    predicts = call.get("predict_batch_size", 7) not in (None, NONE)
    kind = tf_names.MODEL_FN
    trace(call, kind, model_fn, None, NOT_TENSORS, host_modes=host_modes, predicts=predicts)
    return estimator


# `use_tpu` is not among them: many say that it is False.
FOR_TPUS = tf_names.words("""
    TPUEstimatorSpec TPUEstimator CrossShardOptimizer outside_compilation tpu contrib_tpu
    tpu_estimator
""")
# What only a model_fn for TPUs calls.
_OF_MODEL_FNS = re.compile(rb"\b(?:TPUEstimatorSpec|CrossShardOptimizer)\b")


def _is_of_model_fns(data: bytes) -> bool:
    return _OF_MODEL_FNS.search(data) is not None


def _is_made_for_either(call: Call, model_fn: Value) -> bool:
    """Return whether the model_fn of another module may well be for an Estimator without a TPU.

    A helper makes either Estimator, as a flag says, of whatever model_fn it is given. Then only a
    word in the model_fn's own module tells that it was written for a TPU, or a call in those with
    which it works.
    """
    model_fn = call.force(model_fn)
    while isinstance(model_fn, values.Partial):
        model_fn = call.force(model_fn.function)
    function, helper = function_of(model_fn), call.frame.function
    return (
        function is not None
        and helper is not None
        and function.module is not helper.module
        and bool(call.frame.context.conditions)
        and helper.code.names_any(frozenset(["Estimator"]))
        and not function.module.facts.names_any(FOR_TPUS)
        and not any(
            call.frame.session.project.holds(path, _is_of_model_fns)
            for path in call.frame.session.around(function.module.path)
            if path != helper.module.path
        )
    )


# tensorflow_gan/python/estimator/tpu_gan_estimator.py: it derives from TPUEstimator, and wraps the
# optimizers itself.
@model("?.TPUGANEstimator")
def _gan_estimator(call: Call) -> Value:
    """Read both networks as parts of the model_fn that it makes of them."""
    networks = [call.get(keyword, position) for position, keyword in enumerate(NETWORKS)]
    options_of_base = tuple(it for it in call.arguments if it.keyword in OF_ESTIMATORS)
    path = f"tensorflow.estimator.tpu.{ESTIMATOR}"
    base = Call(call.frame, ApiCall(path, call.site, call.frame.context, options_of_base))
    estimator = _estimator(base)
    if base.get("use_tpu") not in NO_TPU:
        for network in filter(None, networks):
            trace(base, tf_names.MODEL_FN, network, None, NOT_TENSORS)
    return estimator


NETWORKS = ("generator_fn", "discriminator_fn")
OF_ESTIMATORS = tf_names.words("""
    model_dir config params use_tpu train_batch_size eval_batch_size predict_batch_size batch_axis
    eval_on_tpu export_to_tpu warm_start_from
""")


@model("tf.estimator.tpu.TPUEstimator.__init__")
def _initialize(call: Call) -> Value | None:
    """Model `super().__init__(model_fn=...)` in a class that is made after TPUEstimator."""
    instance = call.receiver
    for base in objects.mro(instance.cls) if isinstance(instance, Instance) else ():
        if isinstance(base, External) and base.last == ESTIMATOR:
            record = ApiCall(base.path, call.site, call.frame.context, call.arguments)
            _estimator(Call(call.frame, record))
            return NONE
    return None


def _copy_params(call: Call, params: Value) -> Value:
    """TPUEstimator keeps a copy: what is put into `params` later it does not see."""
    held = params.held if isinstance(params, Opaque) else None
    # Of others that are not seen, the input function gets what it gets of parameters.
    if isinstance(held, Mapping) and not held.items.keys().isdisjoint(tf_names.RESERVED):
        params = held
    return structures.copied(params, call.frame.context) if isinstance(params, Mapping) else params


# tpu_estimator.py, `_OutfeedHostCall`: what `host_call` and `eval_metrics` are sent goes through
# the outfeed, so that the device does not wait for them.
@model("?.TPUEstimatorSpec")
def _estimator_spec(call: Call) -> Value:
    """Run `host_call=(fn, tensors)` and `eval_metrics=(...)` on the host, after the step.

    A TPUEstimator sees to that; a computation of one's own just holds the specification.
    """
    computation = call.frame.context.computation
    if computation is not None and computation.kind == tf_names.MODEL_FN:
        for kind, position in tf_names.HOST_FUNCTIONS.items():
            pairs = call.force(call.get(kind, position) or NONE)
            for pair in pairs.options:
                if isinstance(pair, Sequence) and len(pair.items) == 2 and not pair.open:
                    callee, sent = (_if_any(call.force(item)) for item in pair.items)
                    args = _host_arguments(call, sent)
                    open_cluster(call, kind, callee, args, waits=False, named=pair.site)
        scaffold_fn = call.force(call.get("scaffold_fn", 6) or NONE)
        if scaffold_fn != NONE:
            # tpu_estimator.py, `_get_scaffold`: it is called when the computation has been built.
            call.run_inside(Scope(WITH, call.site, effect=INIT_SCOPE), scaffold_fn, [])
    return ExternalObject(call.path, call.site, call.frame.context)


# `metric_fn, tensors = None, None` stands in the branches whose mode has no metrics.
def _if_any(value: Value) -> Value:
    """Return a part of a pair as it is where it is not None."""
    return join(option for option in value.options if option != NONE) if value != NONE else value


# The outfeed holds tensors: a variable among them is read when it is sent.
def _outfeed(call: Call, value: Value) -> Value:
    """Return `value` as the host gets it by the outfeed: a variable is read on the device."""
    if not transfer.variables(value):
        return value
    transfer.touch(call.frame, [value], call.site, "outfeed")
    tensor = transfer.result(call.frame, [value], call.site)
    tensor.shape = () if structures.is_scalar(value) else None
    return tensor


def _host_arguments(call: Call, sent: Value) -> Arguments:
    """Return the tensors as the host function's arguments: a list by position, a dict by name.

    What is seen of a list or dict is known all the same, where other items or keys are not. Such
    an item has a star if its position or its key is not known, or if the dict may lack it.
    """
    stars = "**" if isinstance(sent, Mapping) else "*"
    more = (Argument(None, stars, UNKNOWN, call.site),)
    if not isinstance(sent, (Sequence, Mapping)):
        return more
    call_site = sent.site or call.site
    arguments = []
    rows: list[tuple[object, Value]] = [(None, item) for item in sent.items]
    if isinstance(sent, Mapping):
        rows = list(sent.items.items())
    for number, (key, item) in enumerate(rows):
        place, name, star = -1, None, stars if sent.open else ""
        if isinstance(sent, Mapping):
            place = sent.places.get(key, -1)
            if isinstance(key, str):
                name, star = key, MAY_BE_ABSENT if key in sent.maybe_absent else ""
        elif number < len(sent.places):
            place = sent.places[number]
        site = call_site.module.site(place) if place >= 0 else call_site
        arguments.append(Argument(name, star, _outfeed(call, item), site))
    return (*arguments, *(more if sent.open else ()))


RUN_CONFIG = "RunConfig"


# The RunConfig for TPUs is a class of its own, made from the other one.
def is_run_config(config: ExternalObject, classes: list[Value]) -> bool | None:
    """Return whether a RunConfig is of one of the classes, by whether these are for TPUs."""
    if not all(isinstance(cls, External) and cls.last == RUN_CONFIG for cls in classes):
        return None
    wanted = {_is_for_tpus(cls.path) for cls in classes if isinstance(cls, External)}
    return _is_for_tpus(config.path) or False in wanted


def _is_for_tpus(path: str) -> bool:
    return "tpu" in path.split(".")[:-1]


# What happens at a place of a computation, but for its calls.
EVENTS = tf_names.words("""
    accesses clusters uses context_changes dependencies inner updates effects carried
""")
PLAIN, TPUS = "EstimatorSpec", "TPUEstimatorSpec"
Condition = tuple[ConditionKey, object]


# tensorflow_estimator/python/estimator/tpu/tpu_estimator.py, `convert_to_single_tpu_eval_step`:
# it refuses a plain EstimatorSpec, and so does the step that predicts.
def drop_refused_branches(program: Program) -> None:
    """Take away what no TPU runs of a model_fn.

    That is what happens in branches that return a plain specification, but for these, and in
    branches that predict, where only another estimator does.
    """
    for computation in program.computations:
        if computation.kind == tf_names.MODEL_FN:
            branches = _Branches(computation, _predicts_elsewhere(program, computation))
            if branches.plain or branches.predicts_elsewhere:
                computation.calls = [
                    called
                    for called in computation.calls
                    if called.last == PLAIN or not branches.contains(called.context)
                ]
                for name in EVENTS:
                    events = getattr(computation, name)
                    kept = [event for event in events if not branches.contains(event.context)]
                    setattr(computation, name, kept)


def _predicts_elsewhere(program: Program, computation: Computation) -> bool:
    """Return whether no run that makes this estimator predicts, by what predictions are under."""
    made = computation.call
    predictions = [
        feed.context
        for feed in program.feeds
        if feed.kind == "predict" and feed.owner is made.result
    ]
    return bool(predictions) and all(
        made.context.excludes(prediction) or are_answered_differently(made.context, prediction)
        for prediction in predictions
    )


class _Branches:
    """The branches of a model_fn from which every way leads to a plain EstimatorSpec.

    predicts_elsewhere: those for predictions are among them.
    """

    def __init__(self, computation: Computation, predicts_elsewhere: bool) -> None:
        self.predicts_elsewhere = predicts_elsewhere
        self._around = computation.context.conditions
        self.plain = [
            called.context
            for called in computation.calls
            if called.last == PLAIN and self._is_not_training(called.context)
        ]
        self._tpus = [called.context for called in computation.calls if called.last == TPUS]
        self._answers: dict[frozenset[Condition], bool] = {}

    def contains(self, context: Context) -> bool:
        """Return whether `context` is in such a branch."""
        answer = self._answers.get(context.conditions)
        if answer is None:
            answer = self._answers[context.conditions] = self._is_refused(context)
        return answer

    def _is_refused(self, context: Context) -> bool:
        if self.predicts_elsewhere and any(
            branch is True and key.answer and key.answer.compared in tf_names.PREDICTION
            for key, branch in context.conditions
        ):
            return True
        return (
            self._is_not_training(context)
            and cover(self.plain, context)
            and all(_exclude_each_other(place, context) for place in self._tpus)
        )

    def _is_not_training(self, context: Context) -> bool:
        """Return whether a test of the mode has an answer that it has not in training."""
        return any(
            isinstance(key.answer, Opaque)
            and key.answer.compared
            in (tf_names.EVALUATION | tf_names.PREDICTION if branch else tf_names.TRAINING)
            for key, branch in context.conditions - self._around
        )


def _exclude_each_other(context: Context, other: Context) -> bool:
    """Return whether no call of the model_fn reaches both places."""
    answers = dict(context.conditions)
    differ = any(answers.get(key, branch) != branch for key, branch in other.conditions)
    return differ or context.excludes(other)
