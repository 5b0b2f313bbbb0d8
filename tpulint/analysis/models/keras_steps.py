"""Models of Keras' `compile` and `fit`: the steps of a model, its losses, metrics, optimizer."""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.analysis.domain.context import FUNCTION, WITH, Scope
from tpulint.analysis.domain.effects import CONVERTED, SCOPE, UNCONVERTED
from tpulint.analysis.domain.events import Argument, Tensor, Variable
from tpulint.analysis.domain.objects import (
    Class,
    ExternalObject,
    Function,
    Instance,
    Mapping,
    Sequence,
    function_of,
)
from tpulint.analysis.domain.values import (
    NONE,
    UNKNOWN,
    Bound,
    Const,
    External,
    Opaque,
    Partial,
    Value,
    options,
)
from tpulint.analysis.interpreter import attributes, transfer
from tpulint.analysis.interpreter.calls import call, given
from tpulint.analysis.models.call import Call
from tpulint.analysis.models.deferred_modules import after_all
from tpulint.analysis.models.tracing import trace
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.keras_models import is_model
from tpulint.frontends.tensorflow.strategy import scope_strategy
from tpulint.knowledge import naming
from tpulint.knowledge.keras import (
    CALLBACK_METHODS,
    FUNCTION_HOLDERS,
    LABELS,
    OPTIMIZER_STEPS,
    OUTPUTS,
    RUNS_LOSSES,
    RUNS_METRICS,
    STEPS,
    TRAINING,
)

Model = ExternalObject | Instance
# Attributes of models that are no names of Python's: what `compile` was given.
COMPILED = {
    "optimizer": ("compiled optimizer", 0),
    "loss": ("compiled losses", 1),
    "metrics": ("compiled metrics", 2),
    "weighted_metrics": ("compiled weighted metrics", None),
}
RECEIVERS = (Bound, ExternalObject, Instance)
DEFAULTS = frozenset(STEPS.values())


def answer(this: Call) -> Value | None:
    """`fit` of a model made under a TPUStrategy's scope runs its step by `strategy.run`."""
    model = this.receiver
    if isinstance(model, Bound):
        return _of_attribute(this, model)
    if not isinstance(model, (ExternalObject, Instance)) or not is_model(model):
        return None
    if this.name == "compile":
        _compile(this, model)
    elif this.name in STEPS:
        _run(this, model)
    elif this.frame.context.computation is not None:
        return _part_of_step(this, model)
    return None


def _compile(this: Call, model: Model) -> None:
    for keyword, (kept, position) in COMPILED.items():
        found = this.get(keyword, position)
        if found is not None and found != NONE:
            attributes.put(this.frame, model, kept, after_all(this, found))


def _run(this: Call, model: Model) -> None:
    strategy = scope_strategy(model.context)
    if strategy is None or strategy.kind == "other":
        return
    assert model.context is not None
    if strategy.kind == "unknown" and not _names_a_tpu(this):
        return
    scope = model.context.with_blocks(SCOPE, "")[0]
    known = strategy.kind == "tpu" and not scope.perhaps
    names = [STEPS[this.name]]
    if names == ["train_step"] and this.get("validation_data") not in (None, NONE):
        names.append(STEPS["evaluate"])
    for name in names:
        _step(this, model, name, Certainty.DEFINITE if known else Certainty.POSSIBLE)
    _callbacks(this, model)


def _names_a_tpu(this: Call) -> bool:
    chain = this.frame.context.call_chain
    modules = [this.site.module, *(each.site.module for each in chain)]
    return any(module.has_word(naming.TPU_WORD) for module in modules)


def _step(this: Call, model: Model, name: str, sure: Certainty) -> None:
    """Keras traces the step in a tf.function of its own, and gives it one batch.

    That converts no control flow of Python's: Keras is a module that autograph leaves alone.
    """
    frame = this.frame
    step: Value = Bound(External(f"keras.Model.{name}"), model)
    if isinstance(model, Instance):
        own = attributes.get(frame, model, name, this.site)
        step = own if function_of(own) is not None else step
    batch = [Argument(None, "", UNKNOWN, this.site)]
    with frame.within(Scope(FUNCTION, this.site)):
        plain = (Scope(WITH, this.site, effect=UNCONVERTED),)
        trace(this, "run", step, batch, certainty=sure, mode="function", inside=plain)


def _callbacks(this: Call, model: Model) -> None:
    """Callbacks run on the host, between the steps."""
    found = after_all(this, this.get("callbacks") or NONE)
    for each in found.items if isinstance(found, Sequence) else [found]:
        if not isinstance(each, Instance):
            continue
        each.attributes.setdefault("model", model)
        for name in sorted(CALLBACK_METHODS & _own_names(each)):
            method = attributes.get(this.frame, each, name, this.site)
            if function_of(method) is not None:
                number = Opaque("epoch" if "epoch" in name else "batch")
                first = () if name.startswith(("on_train_b", "on_train_e")) else (number,)
                if "_batch_" in name:
                    first = (number,)
                args = tuple(given(one, this.site) for one in (*first, Opaque("logs")))
                call(this.frame, method, args, this.site)


def _own_names(value: Instance) -> set[str]:
    found: set[str] = set()
    stack: list[Value] = [value.cls]
    while stack:
        each = stack.pop()
        if isinstance(each, Class):
            found |= each.names.keys()
            stack += each.bases
    return found


def _part_of_step(this: Call, model: Model) -> Value | None:
    """Run what a step calls of the model: the default step, its losses and metrics."""
    if this.name in DEFAULTS:
        return _default_step(this, model)
    if this.name in RUNS_LOSSES:
        labels, outputs = _pair(this, *RUNS_LOSSES[this.name])
        return _losses(this, model, labels, outputs)
    if this.name in RUNS_METRICS:
        _metrics(this, model, *_pair(this, *RUNS_METRICS[this.name]))
        return Mapping({}, True)
    return None


def _of_attribute(this: Call, receiver: Bound) -> Value | None:
    """`self.compiled_metrics.update_state(y, y_pred)`."""
    model, name = receiver.receiver, receiver.function
    if not isinstance(model, (ExternalObject, Instance)) or not isinstance(name, External):
        return None
    if name.last == "compiled_metrics" and this.name == "update_state" and is_model(model):
        _metrics(this, model, *_pair(this, 0, 1))
        return UNKNOWN
    return None


def _pair(this: Call, labels: int, outputs: int) -> tuple[Value, Value]:
    return this.get(LABELS, labels) or UNKNOWN, this.get(OUTPUTS, outputs) or UNKNOWN


def _default_step(this: Call, model: Model) -> Value:
    """`train_step`, `test_step` and `predict_step` as Keras writes them."""
    frame, site = this.frame, this.site
    batch = this.values[0] if this.values else UNKNOWN
    parts = batch.items if isinstance(batch, Sequence) and not batch.open else []
    inputs = parts[0] if parts else _element(this, batch)
    labels = parts[1] if len(parts) > 1 else _element(this, batch)
    training = Argument(TRAINING, "", Const(this.name == "train_step"), site)
    made = call(frame, model, (given(inputs, site), training), site)
    if this.name == "predict_step":
        return made
    outputs = made if made is not UNKNOWN else _element(this, batch)
    loss = _own(this, model, "compute_loss", (inputs, labels, outputs))
    if loss is None:
        loss = _losses(this, model, labels, outputs)
    if this.name == "train_step":
        _update(this, model, loss)
    if _own(this, model, "compute_metrics", (inputs, labels, outputs, NONE)) is None:
        _metrics(this, model, labels, outputs)
    return Mapping({}, True)


def _element(this: Call, batch: Value) -> Tensor:
    made = transfer.result(this.frame, [batch], this.site, "structure")
    made.per_replica = made.data = True
    return made


def _own(this: Call, model: Model, name: str, values: tuple[Value, ...]) -> Value | None:
    """Call the model's own method `name`; None where it has none."""
    if not isinstance(model, Instance):
        return None
    method = attributes.get(this.frame, model, name, this.site)
    if function_of(method) is None:
        return None
    return call(this.frame, method, tuple(given(each, this.site) for each in values), this.site)


def _losses(this: Call, model: Model, labels: Value, outputs: Value) -> Value:
    args = (given(labels, this.site), given(outputs, this.site))
    for each in _listed(model.attributes.get(COMPILED["loss"][0])):
        _call_object(this, each, args, "call")
    made = transfer.result(this.frame, [labels, outputs], this.site)
    made.shape = ()
    return made


def _metrics(this: Call, model: Model, labels: Value, outputs: Value) -> None:
    args = (given(labels, this.site), given(outputs, this.site))
    for keyword in ("metrics", "weighted_metrics"):
        for each in _listed(model.attributes.get(COMPILED[keyword][0])):
            _call_object(this, each, args, "update_state")
            if isinstance(each, Instance):
                _call_object(this, each, (), "result")


def _call_object(this: Call, value: Value, args: tuple[Argument, ...], name: str) -> None:
    """Call a function, or the method `name` of an object or of a class's object."""
    frame, site = this.frame, this.site
    if isinstance(value, ExternalObject) and value.last in FUNCTION_HOLDERS:
        value = value.argument("fn", 0) or UNKNOWN
    if isinstance(value, Class):
        with frame.muted():
            value = call(frame, value, (), site)
    if isinstance(value, Instance):
        value = attributes.get(frame, value, name, site)
        value = value if function_of(value) is not None else UNKNOWN
    if isinstance(value, (Function, Bound, Partial)):
        with frame.within(Scope(WITH, site, effect=CONVERTED)):
            call(frame, value, args, site)


def _update(this: Call, model: Model, loss: Value) -> None:
    """Count a step of the optimizer; one of the project's own, and a schedule, are called."""
    frame, site = this.frame, this.site
    for optimizer in options(model.attributes.get(COMPILED["optimizer"][0], UNKNOWN)):
        step = None
        if isinstance(optimizer, ExternalObject):
            step = attributes.get(frame, optimizer, "iterations", site)
            rate = optimizer.argument("learning_rate", 0)
            if isinstance(rate, Instance):
                count = transfer.result(frame, [loss], site)
                count.shape, count.uniform = (), True
                call(frame, rate, (given(count, site),), site)
        elif isinstance(optimizer, Instance):
            for name in sorted(OPTIMIZER_STEPS & _own_names(optimizer)):
                method = attributes.get(frame, optimizer, name, site)
                pair = Sequence("tuple", [_element(this, loss), _element(this, loss)])
                taken: Iterable[Value] = pair.items
                if name == "apply_gradients":
                    taken = [Sequence("list", [pair], True)]
                call(frame, method, tuple(given(each, site) for each in taken), site)
        if isinstance(step, Variable):
            transfer.access(frame, step, "write", "apply_gradients", site)


def _listed(value: Value | None, depth: int = 0) -> list[Value]:
    """Return the losses or metrics in what `compile` was given: lists and dicts of them opened."""
    if value is None or depth > 3:
        return []
    found = []
    for each in options(value):
        if isinstance(each, Sequence):
            inner = each.items
        elif isinstance(each, Mapping):
            inner = list(each.items.values())
        else:
            found.append(each)
            continue
        found += [one for item in inner for one in _listed(item, depth + 1)]
    return found
