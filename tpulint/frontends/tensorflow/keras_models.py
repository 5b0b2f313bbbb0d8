"""Recognize the objects of Keras and TensorFlow: models, losses, datasets."""

from __future__ import annotations

from tpulint.absint.domain.objects import ExternalObject, Instance, mro
from tpulint.absint.domain.values import Const, External, Value, options
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.knowledge.keras import FUNCTIONAL, REDUCTIONS, SEQUENTIAL
from tpulint.frontends.tensorflow.knowledge.strategies import MODELS_WITH_VARIABLES

CLASSES = FUNCTIONAL | {SEQUENTIAL}
MODELS = MODELS_WITH_VARIABLES | CLASSES


def is_model(value: Value | None) -> bool:
    """Return whether this is a Keras model, or an object of a class that is one."""
    if isinstance(value, ExternalObject):
        named = value.last in MODELS or ".applications." in value.path
        return "keras" in value.path and named
    return isinstance(value, Instance) and keras_base(value) in CLASSES


def is_sequential(value: Value | None) -> bool:
    """Return whether the value is a model of layers that follow each other."""
    if isinstance(value, Instance):
        return keras_base(value) == SEQUENTIAL
    return is_model(value) and isinstance(value, ExternalObject) and value.last == SEQUENTIAL


def keras_base(value: Instance) -> str:
    """Return the last name of the class of Keras that an object's class is made of, or ""."""
    for each in mro(value.cls):
        if isinstance(each, External) and "keras" in each.path:
            return each.last
    return ""


def is_loss(value: Value | None) -> bool:
    """Return whether this is an object of one of Keras' losses."""
    if not isinstance(value, ExternalObject) or not value.last[:1].isupper():
        return False
    return "keras" in value.path and ".losses." in value.path


def reduction_of(loss: ExternalObject) -> str | None:
    """Return how the loss reduces: "none", "sum" or "mean"; None where that is not seen."""
    if any(keyword is None for keyword, _ in loss.arguments):
        return None  # where a reduction stands differs by the class
    given = loss.argument("reduction")
    if given is None:
        return "mean"
    found = {_reduction(each) for each in options(given)}
    return found.pop() if len(found) == 1 else None


def _reduction(value: Value) -> str | None:
    if isinstance(value, External):
        return REDUCTIONS.get(value.last.lower())
    return REDUCTIONS.get(str(value.value).lower()) if isinstance(value, Const) else None


def is_dataset(value: Value) -> bool:
    """Return whether this is an input pipeline, as its name says."""
    return all(
        isinstance(each, ExternalObject) and naming.DATASET.is_in(each.path)
        for each in options(value)
    )
