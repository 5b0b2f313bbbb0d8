"""Keras models and layers of outside classes: the project's functions and layers in them."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.context import WITH, ConditionKey, Scope
from tpulint.analysis.domain.effects import UNCONVERTED
from tpulint.analysis.domain.events import Argument, Context, LayerCall, Tensor
from tpulint.analysis.domain.objects import (
    Class,
    ExternalObject,
    Function,
    Instance,
    Sequence,
)
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.structures import tensors
from tpulint.analysis.domain.values import NONE, Bound, Choice, Const, Partial, Value, join, options
from tpulint.analysis.interpreter import attributes, transfer
from tpulint.analysis.interpreter.calls import call, given
from tpulint.analysis.interpreter.frame import Frame
from tpulint.analysis.models.call import Call
from tpulint.analysis.models.deferred_modules import after_all
from tpulint.frontends.tensorflow.keras_models import is_model, is_sequential
from tpulint.knowledge.keras import (
    ACTIVATION,
    CELL_HOLDERS,
    FUNCTIONAL,
    FUNCTIONS_OF_LAYERS,
    HOLDERS,
    INPUT,
    LAMBDA,
    TRAINING,
)

CALLABLE = (Function, Bound, Partial)
Arguments = tuple[Argument, ...]
# Attributes of models that are no names of Python's, so that no program sets them.
LAYERS, RESULT = "layers given", "outputs given"
ANSWERED = frozenset([INPUT, "add", "__init__"])


def answer(this: Call) -> Value | None:
    """Keep the parts of a model: `Input`, `add`, the arguments of `Model` and `Sequential`."""
    if this.name == INPUT and this.receiver is None and "keras" in this.path:
        made = Tensor(this.frame.context, this.site)
        made.layer = LayerCall(None, (), this.site, this.frame.context)
        return made
    if this.name == "add" and is_sequential(this.receiver) and this.values:
        assert isinstance(this.receiver, (ExternalObject, Instance))
        _add(this, this.receiver, after_all(this, this.values[0]))
        return NONE
    if this.name == "__init__" and is_model(this.receiver):
        assert isinstance(this.receiver, (ExternalObject, Instance))
        _keep(this.frame, this.receiver, this.arguments)
        return NONE
    return None


def _add(this: Call, model: ExternalObject | Instance, layer: Value) -> None:
    """`model.add(layer)`: perhaps, if that is under a condition."""
    known = _layers(model)
    if known is None:
        known = Sequence("list", [])
        model.attributes[LAYERS] = known
    made = model.context
    if made is not None and not this.frame.context.reached_whenever(made):
        layer = join([layer, NONE])
    known.add(layer)


def _keep(frame: Frame, model: ExternalObject | Instance, args: Arguments) -> None:
    """Remember the layers or the outputs that the class of Keras under `model` is made with."""
    if is_sequential(model):
        found = _argument(args, "layers", 0)
        if isinstance(found, Sequence):
            model.attributes[LAYERS] = Sequence("list", list(found.items), found.open)
    elif is_model(model):
        found = _argument(args, "outputs", 1)
        if found is not None:
            attributes.put(frame, model, RESULT, found)


def _argument(args: Arguments, keyword: str, position: int) -> Value | None:
    plain = [each.value for each in args if each.keyword is None]
    named = {each.keyword: each.value for each in args if each.keyword}
    return named.get(keyword) or (plain[position] if position < len(plain) else None)


def _layers(model: ExternalObject | Instance) -> Sequence | None:
    known = model.attributes.get(LAYERS)
    if known is None and isinstance(model, ExternalObject):
        found = model.argument("layers", 0)
        if isinstance(found, Sequence):
            known = Sequence("list", list(found.items), found.open)
            model.attributes[LAYERS] = known
    return known if isinstance(known, Sequence) else None


def called(frame: Frame, layer: Value, args: Arguments, site: Site) -> Value | None:
    """Run what calling a layer of an outside class runs on the device; None where it is nothing.

    layer: may be an object of the project, of a class without a `call` of its own.
    """
    if frame.context.computation is None or not isinstance(layer, (ExternalObject, Instance)):
        return None
    if is_sequential(layer):
        return _sequence(frame, layer, args, site)
    if isinstance(layer, Instance):
        outputs = layer.attributes.get(RESULT)
        return None if outputs is None else replay(frame, outputs, layer.context, args, site)
    if "keras" not in layer.path:
        return None
    if layer.last in FUNCTIONAL:
        outputs = layer.argument("outputs", 1)
        return None if outputs is None else replay(frame, outputs, layer.context, args, site)
    if layer.last == "clone_model":
        model = layer.argument("model", 0)
        return None if model is None else call(frame, model, args, site)
    if layer.last == LAMBDA:
        with frame.within(Scope(WITH, site, effect=UNCONVERTED)):
            return _function(frame, layer.argument("function", 0), args[:1], site)
    return _held(frame, layer, args, site)


def _sequence(
    frame: Frame, model: ExternalObject | Instance, args: Arguments, site: Site
) -> Value | None:
    """Call the layers one after the other, each with what the one before it gives."""
    known = _layers(model)
    if known is None or not args:
        return None
    mode = tuple(each for each in args if each.keyword == TRAINING)
    found = args[0].value
    for layer in known.items:
        results = []
        several = isinstance(layer, Choice)
        for number, option in enumerate(options(layer)):
            if isinstance(option, (Tensor, Const)):  # `Input(...)`, or a layer that may be missing
                results.append(found)
            elif several:
                with frame.when(ConditionKey("callee", site), number):
                    results.append(call(frame, option, (given(found, site), *mode), site))
            else:
                results.append(call(frame, option, (given(found, site), *mode), site))
        found = join(results)
    return found


def _function(frame: Frame, function: Value | None, args: Arguments, site: Site) -> Value | None:
    if function is None:
        return None
    callee = frame.session.read_after_all(function)
    if not all(isinstance(option, (*CALLABLE, Class, Instance)) for option in options(callee)):
        return None
    return call(frame, callee, args, site)


def _held(frame: Frame, layer: ExternalObject, args: Arguments, site: Site) -> Value | None:
    """Call the layers, cells and functions that a layer was made with."""
    found: Value | None = None
    for name in HOLDERS.get(layer.last, ()):
        inner = layer.argument(name, 0 if name == "layer" else None)
        if inner is not None and inner != NONE:
            found = call(frame, inner, args[:1], site)
    if layer.last in CELL_HOLDERS:
        cells = layer.argument(CELL_HOLDERS[layer.last], 0)
        for cell in cells.items if isinstance(cells, Sequence) else [cells]:
            if cell is not None and args:
                state = Tensor(frame.context, site, "structure", data=True)
                call(frame, cell, (args[0], given(state, site)), site)
    for keyword, value in layer.arguments:
        first = layer.last == ACTIVATION and keyword is None
        if first or keyword in FUNCTIONS_OF_LAYERS:
            items = [each.value for each in args[:1]]
            made = given(transfer.result(frame, items, site), site)
            result = _function(frame, value, (made,), site)
            if result is not None and (first or "activation" in str(keyword)):
                found = result
    return found


def replay(
    frame: Frame, outputs: Value, made: Context | None, args: Arguments, site: Site
) -> Value:
    """Call the layers of a functional model, in the order in which they were put together."""
    data = [each.value for each in args if each.keyword is None]
    mode = tuple(each for each in args if each.keyword == TRAINING)
    inputs = _inputs(frame, data, site)
    results: dict[int, Value] = {}

    def here(tensor: Tensor) -> Value:
        if tensor.layer is None:
            return tensor
        return _one(frame, results.get(id(tensor.layer), inputs), site)

    before = frozenset() if made is None else made.conditions
    for step in steps(outputs):
        if step.layer is None:
            parts = [results.get(id(each), inputs) for each in step.sources]
            if parts:
                results[id(step)] = transfer.result(frame, parts, step.site or site)
            continue
        given_now = tuple(
            each._replace(value=transfer.each_tensor(each.value, here)) for each in step.arguments
        )
        if not any(each.keyword == TRAINING for each in given_now):
            given_now = (*given_now, *mode)
        context = frame.context
        for key, branch in step.context.conditions - before:
            context = context.when(key, branch)
        with frame.at(context):
            results[id(step)] = call(frame, step.layer, given_now, step.site or site)
    return transfer.each_tensor(outputs, here)


def _inputs(frame: Frame, data: list[Value], site: Site) -> Tensor:
    """Return what each input of the model is given: one of `data`, as it is."""
    given_now = [tensor for each in data for tensor in tensors(each)]
    if len(given_now) == 1:
        return given_now[0]
    made = transfer.flow(frame, given_now, site)
    made.computed = any(each.computed for each in given_now)
    return made


def _one(frame: Frame, value: Value, site: Site) -> Tensor:
    """Return the tensor that `value` is, or one made of all that are in it."""
    if isinstance(value, Tensor):
        return value
    return transfer.flow(frame, list(tensors(value)), site)


def steps(outputs: Value) -> Iterator[LayerCall]:
    """Yield the calls of layers that made `outputs`, each after those whose results it takes."""
    stack = [(each.layer, False) for each in tensors(outputs) if each.layer is not None]
    seen: set[int] = set()
    while stack:
        step, is_ready = stack.pop()
        if is_ready:
            yield step
        elif id(step) not in seen:
            seen.add(id(step))
            stack.append((step, True))
            stack += [(each, False) for each in step.sources]
