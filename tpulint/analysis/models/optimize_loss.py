"""`optimize_loss` of tf_slim and tf.contrib.layers, which applies gradients by what it is given.

The facts: tf_slim/layers/optimizers.py. An optimizer comes as an object, as its class, as a
function that makes one of the learning rate, or by name.
"""

from __future__ import annotations

from tpulint.analysis.domain.events import ApiCall, Tensor, Variable
from tpulint.analysis.domain.objects import Class, ExternalObject, Function
from tpulint.analysis.domain.values import NONE, UNKNOWN, Bound, Const, External, Partial, Value
from tpulint.analysis.domain.values import options as alternatives
from tpulint.analysis.interpreter import transfer
from tpulint.analysis.interpreter.calls import call, given
from tpulint.analysis.models.call import Call

ANSWERED = frozenset(["optimize_loss"])
TRAIN = "tensorflow.compat.v1.train"
MAKERS = (Function, Bound, Partial, Class, External)


def answer(this: Call) -> Value | None:
    optimizer = this.get("optimizer", 3)
    if this.name not in ANSWERED or optimizer is None:
        return None
    _count(this)
    computation = this.frame.context.computation
    for each in alternatives(optimizer):
        if each == NONE:  # which it refuses
            continue
        receiver = _made(this, each)
        if computation is not None and not this.frame.context.muted:
            update = ApiCall("?.minimize", this.site, this.frame.context, (), receiver, UNKNOWN)
            computation.updates.append(update)
    return this.operation()


def _count(this: Call) -> None:
    """Count the step that is given; where None is given, the graph's own is."""
    if this.get("increment_global_step", 13) == Const(False):
        return
    step = this.get("global_step", 1)
    if step == NONE:
        step = this.frame.session.only_variable("global_step", "step")
    if isinstance(step, Variable) and step.sort == "step":
        transfer.access(this.frame, step, "write", this.name, this.site)


def _made(this: Call, optimizer: Value) -> Value:
    """Return the optimizer itself."""
    if isinstance(optimizer, Const) and isinstance(optimizer.value, str):
        path = f"{TRAIN}.{optimizer.value}Optimizer"
        return ExternalObject(path, this.site, this.frame.context)
    if not isinstance(optimizer, MAKERS):
        return optimizer
    rate = this.get("learning_rate", 2)
    if rate is None or rate == NONE:
        rate = Tensor(this.frame.context, this.site)
    return call(this.frame, optimizer, (given(rate, this.site),), this.site)
