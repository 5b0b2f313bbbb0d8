"""Recognize the values that are Keras models."""

from __future__ import annotations

from tpulint.analysis.domain.objects import Class, ExternalObject, Instance
from tpulint.analysis.domain.values import External, Value
from tpulint.knowledge.strategies import MODELS_WITH_VARIABLES

MODELS = MODELS_WITH_VARIABLES | {"Model", "Sequential"}


def is_model(value: Value | None) -> bool:
    """A Keras model, or an object of a class that is one."""
    if isinstance(value, ExternalObject):
        named = value.last in MODELS or ".applications." in value.path
        return "keras" in value.path and named
    return isinstance(value, Instance) and _inherits_model(value.cls)


def _inherits_model(cls: Class) -> bool:
    for each in cls.bases:
        if isinstance(each, External) and each.path.endswith("keras.Model"):
            return True
        if isinstance(each, Class) and _inherits_model(each):
            return True
    return False
