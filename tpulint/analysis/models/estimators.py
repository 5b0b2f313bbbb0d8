"""`TPUEstimator`, and the host functions of a `TPUEstimatorSpec`."""

from __future__ import annotations

from tpulint.analysis.domain.class_order import mro
from tpulint.analysis.domain.events import MODEL_FN, ApiCall, Argument
from tpulint.analysis.domain.objects import ExternalObject, Instance, Mapping, Sequence
from tpulint.analysis.domain.properties import is_scalar
from tpulint.analysis.domain.structures import copied
from tpulint.analysis.domain.values import NONE, UNKNOWN, Const, External, Value, join, options
from tpulint.analysis.interpreter import transfer
from tpulint.analysis.models.call import Call
from tpulint.analysis.models.clusters import open_cluster
from tpulint.analysis.models.deferred_modules import after_all
from tpulint.analysis.models.tracing import trace
from tpulint.knowledge.seam import EVALUATION

NOT_TENSORS = frozenset(["mode", "params", "config", "hparams", "self"])
# The tensors that an Estimator passes by name, and that a model_fn passes to what specifies it.
OF_MODEL_FNS = frozenset(["features", "labels", "loss", "total_loss", "logits"])
HOST_FUNCTIONS = {"host_call": "host_call", "eval_metrics": "eval_metrics"}
POSITIONS = {"eval_metrics": 4, "host_call": 7}


ESTIMATOR = "TPUEstimator"
ANSWERED = frozenset([ESTIMATOR, "TPUEstimatorSpec", "__init__"])


def answer(this: Call) -> Value | None:
    if this.name == ESTIMATOR:
        return _estimator(this)
    if this.name == "__init__" and isinstance(this.receiver, Instance):
        return _initialized(this, this.receiver)
    if this.name == "TPUEstimatorSpec":
        return _spec(this)
    return None


def _estimator(this: Call) -> Value:
    """Read the model_fn as a computation, unless `use_tpu=False` is there in so many words."""
    made = ExternalObject(this.path, this.site, this.frame.context)
    made.arguments = tuple((each.keyword, each.value) for each in this.arguments)
    params = options(after_all(this, this.get("params", 3) or NONE))
    made.attributes["params"] = join(_kept(this, each) for each in params)
    use_tpu = this.get("use_tpu", 4)
    model_fn = this.get("model_fn", 0)
    if use_tpu == Const(False) and model_fn is not None:
        this.frame.session.known(model_fn)
    if use_tpu == Const(False) or model_fn is None:
        return made
    on_host = this.get("eval_on_tpu", 9) == Const(False)
    trace(
        this,
        MODEL_FN,
        model_fn,
        None,
        mode="graph",
        opaque=NOT_TENSORS,
        host_modes=EVALUATION if on_host else frozenset(),
        predicts=this.get("predict_batch_size", 7) not in (None, NONE),
    )
    return made


def _initialized(this: Call, made: Instance) -> Value | None:
    """`super().__init__(model_fn=...)` in a class that is made after TPUEstimator."""
    for base in mro(made.cls):
        if isinstance(base, External) and base.last == ESTIMATOR:
            record = ApiCall(
                base.path, this.site, this.frame.context, this.arguments, None, UNKNOWN
            )
            _estimator(Call(this.frame, record))
            return NONE
    return None


def _kept(this: Call, params: Value) -> Value:
    """TPUEstimator keeps a copy: what is put into `params` later it does not see."""
    return copied(params, this.frame.context) if isinstance(params, Mapping) else params


def _spec(this: Call) -> Value:
    """`host_call=(fn, tensors)` and `eval_metrics=(...)` run on the host, after the step.

    A TPUEstimator sees to that; a computation of one's own just holds the specification.
    """
    computation = this.frame.context.computation
    if computation is not None and computation.kind == MODEL_FN:
        for keyword, kind in HOST_FUNCTIONS.items():
            given = after_all(this, this.get(keyword, POSITIONS[keyword]) or NONE)
            for pair in options(given):
                if isinstance(pair, Sequence) and len(pair.items) == 2 and not pair.open:
                    callee, sent = after_all(this, pair.items[0]), pair.items[1]
                    args = _sent(this, sent)
                    open_cluster(this, kind, callee, args, waits=False, named=pair.site)
    return ExternalObject(this.path, this.site, this.frame.context)


def _outfed(this: Call, value: Value) -> Value:
    """Return `value` as the host gets it by the outfeed: a variable is read on the device."""
    if not any(True for _ in transfer.variables(value)):
        return value
    transfer.touch(this.frame, [value], this.site, "outfeed")
    made = transfer.result(this.frame, [value], this.site)
    made.shape = () if is_scalar(value) else None
    return made


def _sent(this: Call, sent: Value) -> tuple[Argument, ...]:
    """Return the tensors as the host function's arguments: a list by position, a dict by name."""
    if not isinstance(sent, (Sequence, Mapping)) or sent.open:
        return (Argument(None, "*", UNKNOWN, this.site),)
    whole = sent.site or this.site
    found = []
    for number, (key, each) in enumerate(_named(sent)):
        place = -1
        if isinstance(sent, Mapping):
            place = sent.places.get(key, -1)
        elif number < len(sent.places):
            place = sent.places[number]
        site = whole.module.site(place) if place >= 0 else whole
        name = None if key is None else str(key)
        found.append(Argument(name, "", _outfed(this, each), site))
    return tuple(found)


def _named(sent: Sequence | Mapping) -> list[tuple[object, Value]]:
    """Return the items with their keys."""
    if isinstance(sent, Mapping):
        return list(sent.items.items())
    return [(None, each) for each in sent.items]
