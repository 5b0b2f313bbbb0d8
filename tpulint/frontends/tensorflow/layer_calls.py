"""Calls of Keras layers: the arguments that Keras adds, and the models that such calls build."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tpulint.absint.domain.events import Argument, LayerCall
from tpulint.absint.domain.objects import ExternalObject, Function, Instance
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import tensors
from tpulint.absint.domain.values import UNKNOWN, Opaque, Value, options
from tpulint.absint.interpreter import transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.frontends.tensorflow import deferred
from tpulint.frontends.tensorflow.keras_models import keras_base
from tpulint.frontends.tensorflow.knowledge.keras import TRAINING

Arguments = tuple[Argument, ...]


def with_training(frame: Frame, call: Function, args: Arguments, site: Site) -> Arguments:
    """Return what the method `call` of a layer is given: Keras fills `training` in, or drops it."""
    code = call.code.parameters
    names = [each.name for each in code.named]
    if TRAINING not in names:
        if code.star_star is not None:
            return args
        return tuple(each for each in args if each.keyword != TRAINING)
    plain = sum(each.keyword is None for each in args)
    given = any(each.keyword == TRAINING or each.star for each in args)
    if given or plain >= names.index(TRAINING):  # `self` is not among `args`
        return args
    around = frame.env.names.get(TRAINING, Opaque(TRAINING, is_static=True))
    return (*args, Argument(TRAINING, "", around, site))


def is_symbolic(args: Arguments) -> bool:
    """Return whether a layer is called with these to put a model together."""
    return any(each.layer is not None for one in args for each in tensors(one.value))


def noted(frame: Frame, layer: Value, args: Arguments, site: Site, found: Value) -> Value:
    """Return `found`, the result of calling `layer`, as a part of the model that is built by it.

    That is so where a symbolic tensor is given; elsewhere the result stays as it is.
    """
    given = [each for one in args for each in tensors(one.value)]
    sources = tuple(each.layer for each in given if each.layer is not None)
    if not sources or frame.context.computation is not None:
        return found
    made = LayerCall(layer, args, site, frame.context, sources)
    if found is UNKNOWN or isinstance(found, Opaque):
        found = transfer.flow(frame, given, site)
    return transfer.each_tensor(found, lambda tensor: replace(tensor, layer=made))


def layer_of(frame: Frame, step: LayerCall) -> Value | None:
    """Return the layer of a step; None where it made tensors of layers and is none itself."""
    layer = step.layer
    if not (isinstance(layer, ExternalObject) and layer.callee is not None):
        return layer
    layer = deferred.force(frame, layer, layer.site)
    are_layers = all(
        isinstance(option, Instance) and keras_base(option) for option in options(layer)
    )
    return layer if are_layers else None


def steps(outputs: Value) -> Iterator[LayerCall]:
    """Yield the calls of layers that made `outputs`, each after those whose results it takes."""
    stack = [(tensor.layer, False) for tensor in tensors(outputs) if tensor.layer is not None]
    seen: set[int] = set()
    while stack:
        step, is_ready = stack.pop()
        if is_ready:
            yield step
        elif id(step) not in seen:
            seen.add(id(step))
            stack.append((step, True))
            stack += [(source, False) for source in step.sources]
