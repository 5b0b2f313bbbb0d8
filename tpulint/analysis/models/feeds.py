"""Models of what feeds a TPU: `input_fn` of a TPUEstimator, datasets of a TPUStrategy, `fit`."""

from __future__ import annotations

from tpulint.analysis.domain.arity import signature_of
from tpulint.analysis.domain.context import DATA, Scope
from tpulint.analysis.domain.events import Argument
from tpulint.analysis.domain.objects import ExternalObject, Instance, Mapping
from tpulint.analysis.domain.program import Feed
from tpulint.analysis.domain.values import (
    NONE,
    UNKNOWN,
    Const,
    External,
    Opaque,
    Value,
    join,
    options,
)
from tpulint.analysis.models.call import Call
from tpulint.analysis.models.deferred_modules import after_all
from tpulint.frontends.tensorflow.strategy import Strategy, scope_strategy

ESTIMATES = frozenset(["train", "evaluate", "predict"])
SPECS = {"TrainSpec": "train", "EvalSpec": "evaluate"}
FITS = {"fit": ("x", "validation_data"), "evaluate": ("x",), "predict": ("x",)}
DISTRIBUTES = frozenset(["experimental_distribute_dataset", "make_dataset_iterator"])
FROM_FUNCTION = frozenset(
    [
        "distribute_datasets_from_function",
        "experimental_distribute_datasets_from_function",
        "make_input_fn_iterator",
    ]
)
ANSWERED = ESTIMATES | {"train_and_evaluate"} | FITS.keys() | DISTRIBUTES | FROM_FUNCTION
# The arguments that TPUEstimator gives to an input_fn that asks for them.
GIVEN = ("params", "config", "mode", "input_context")


def answer(this: Call) -> Value | None:
    """Model a call that hands an input pipeline to a TPU; its own answer is left to others."""
    receiver = this.receiver
    if (
        isinstance(receiver, ExternalObject)
        and receiver.last == "TPUEstimator"
        and this.name in ESTIMATES
    ):
        _estimate(this, receiver, this.name, this.get("input_fn", 0))
    elif this.name == "train_and_evaluate":
        _train_and_evaluate(this)
    elif isinstance(receiver, (ExternalObject, Instance)) and this.name in FITS:
        _fit(this, receiver)
    elif isinstance(receiver, Strategy) and receiver.kind == "tpu":
        return _distribute(this, receiver)
    return None


def _train_and_evaluate(this: Call) -> None:
    estimator = this.get("estimator", 0)
    if not isinstance(estimator, ExternalObject) or estimator.last != "TPUEstimator":
        return
    for each in this.values[1:]:
        if isinstance(each, ExternalObject) and each.last in SPECS:
            given = each.argument("input_fn", 0)
            _estimate(this, estimator, SPECS[each.last], given)


def _estimate(this: Call, estimator: ExternalObject, kind: str, input_fn: Value | None) -> None:
    """TPUEstimator calls its input_fn on the host of the TPU."""
    use_tpu = estimator.argument("use_tpu", 4)
    on_tpu = estimator.argument("eval_on_tpu", 9)
    if (
        input_fn is None
        or use_tpu == Const(False)
        or this.frame.context.excludes(estimator.context)
    ):
        return
    if kind == "evaluate" and on_tpu == Const(False):
        return
    params = [_params(each) for each in options(estimator.attributes.get("params", NONE))]
    _read(this, kind, estimator, input_fn, join(params))


def _params(params: Value) -> Value:
    """Return the `params` of an input_fn: the user's own, and the size of a batch."""
    if params == NONE:
        params = Mapping({})
    if not isinstance(params, Mapping):
        return Opaque("params")
    items = {"context": Opaque("context"), "batch_size": Opaque("batch_size"), **params.items}
    return Mapping(items, True, params.site)


def _distribute(this: Call, strategy: Strategy) -> Value | None:
    if this.name in DISTRIBUTES:
        data = after_all(this, this.values[0]) if this.values else UNKNOWN
        _note(this, Feed("distribute", this.site, this.frame.context, strategy, data))
        return data
    if this.name in FROM_FUNCTION and this.values:
        return _read(this, "distribute", strategy, this.values[0], NONE)
    return None


def _fit(this: Call, model: ExternalObject | Instance) -> None:
    """`fit` of a model that was made under the scope of a TPUStrategy."""
    strategy = scope_strategy(model.context)
    if strategy is None or strategy.kind != "tpu":
        return
    for keyword in FITS[this.name]:
        given = this.get(keyword, 0 if keyword == "x" else None)
        if given is not None:
            data = after_all(this, given)
            kind = "evaluate" if keyword == "validation_data" else this.name
            _note(this, Feed(kind, this.site, this.frame.context, strategy, data))


def _note(this: Call, feed: Feed) -> None:
    if not this.frame.context.muted:
        this.frame.session.program.feeds.append(feed)


def _read(this: Call, kind: str, owner: Value, input_fn: Value, params: Value) -> Value:
    """Call the input function as TensorFlow does: on the host, outside every computation."""
    function = after_all(this, input_fn)
    feed = Feed(kind, this.site, this.frame.context, owner, UNKNOWN, function)
    _note(this, feed)
    found = []
    for each in options(function):
        if not isinstance(each, (ExternalObject, External)):
            args = _arguments(this, each, params)
            found.append(this.run_inside(Scope(DATA, this.site, feed), each, args))
    feed.data = after_all(this, join(found)) if found else UNKNOWN
    return feed.data


def _arguments(this: Call, input_fn: Value, params: Value) -> tuple[Argument, ...]:
    signature = signature_of(input_fn)
    names = [each for each in GIVEN if signature is not None and each in signature.parameters]
    known = {"params": params} if params != NONE else {}
    return tuple(Argument(name, "", known.get(name, Opaque(name)), this.site) for name in names)
