"""Models of Keras' `fit`: the steps, or `call`, of a model of a project's class."""

from __future__ import annotations

from tpulint.analysis.domain.context import FUNCTION, Scope
from tpulint.analysis.domain.events import Argument
from tpulint.analysis.domain.keras_models import is_model
from tpulint.analysis.domain.objects import Instance, function_of
from tpulint.analysis.domain.values import UNKNOWN, Bound, Value
from tpulint.analysis.interpreter import attributes
from tpulint.analysis.models.call import Call
from tpulint.analysis.models.tracing import trace

# keras/src/backend/tensorflow/trainer.py: `make_train_function` and its kin.
STEPS = {"fit": "train_step", "evaluate": "test_step", "predict": "predict_step"}


def answer(this: Call) -> Value | None:
    """`fit` of a model made under a TPUStrategy's scope runs its step by `strategy.run`."""
    model = this.receiver
    if this.name not in STEPS or not isinstance(model, Instance) or model.context is None:
        return None
    strategy = model.context.strategy
    if strategy is None or strategy.kind != "tpu" or not is_model(model):
        return None
    steps = [STEPS[this.name]]
    if this.name == "fit" and this.get("validation_data") is not None:
        steps.append(STEPS["evaluate"])
    for name in steps:
        _step(this, model, name)
    return None


def _step(this: Call, model: Instance, name: str) -> None:
    """Keras traces the step in a tf.function of its own, and gives it one batch."""
    frame = this.frame
    step = attributes.get(frame, model, name, this.site)
    if not isinstance(step, Bound) or function_of(step) is None:
        step = attributes.get(frame, model, "call", this.site)
    if not isinstance(step, Bound) or function_of(step) is None:
        return
    with frame.within(Scope(FUNCTION, this.site)):
        trace(this, "run", step, [Argument(None, "", UNKNOWN, this.site)], mode="function")
