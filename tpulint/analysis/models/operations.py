"""Everything else: an operation of TensorFlow, an object of an outside class, or unknown."""

from __future__ import annotations

from functools import lru_cache

from tpulint.analysis.domain.context import CALLED, ConditionKey
from tpulint.analysis.domain.events import ApiCall, Argument, Tensor
from tpulint.analysis.domain.objects import ExternalObject, Function, Sequence
from tpulint.analysis.domain.properties import uniform
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.structures import all_tensors
from tpulint.analysis.domain.values import UNKNOWN, Bound, Partial, Value
from tpulint.analysis.interpreter import transfer
from tpulint.analysis.interpreter.calls import call, given
from tpulint.analysis.interpreter.frame import Frame
from tpulint.analysis.models import keras_layers
from tpulint.analysis.models.call import Call, parameter_count
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow import layer_calls
from tpulint.frontends.tensorflow.hooks import weights
from tpulint.frontends.tensorflow.keras_models import is_loss, reduction_of
from tpulint.frontends.tensorflow.scalars import gives_scalar
from tpulint.knowledge import naming, seam
from tpulint.knowledge.seam import is_tensorflow

# The sorts of what a call gives, by its dotted name.
PYTHON, UNSEEN, OPERATION, OBJECT, TENSOR = "Python", "unseen", "operation", "object", "tensor"


def answer(this: Call) -> Value:
    if this.path.startswith("builtins."):
        return UNKNOWN
    if isinstance(this.receiver, ExternalObject):
        return _of_object(this, this.receiver)
    if this.receiver is not None:
        return unseen(this)
    sort = given_by(this.path)
    if sort == OPERATION:
        return this.operation("operation")
    if sort == OBJECT:
        return _object(this)
    if sort == TENSOR:
        return _tensor(this)
    return UNKNOWN if sort == PYTHON else unseen(this)


@lru_cache(maxsize=4096)
def given_by(path: str) -> str:
    """Return what a call of this dotted name gives."""
    name = path.rpartition(".")[2]
    tensorflow = is_tensorflow(path)
    if tensorflow and (name in seam.OPERATIONS or name.startswith("assert_")):
        return OPERATION
    data = naming.DATASET_MAKER.is_in(path)
    if name.lstrip("_")[:1].isupper() or data or name in seam.OBJECTS:
        return OBJECT
    if not tensorflow:
        return UNSEEN
    return PYTHON if name in seam.PYTHON_RESULTS else TENSOR


def _tensor(this: Call) -> Value:
    """Return the result of an operation of TensorFlow."""
    if this.name == "stop_gradient":
        made = this.operation()
        made.clusters = frozenset()
        return made
    _call_given(this)
    made = this.operation()
    if made.operation is not None:
        made.operation.ordered = this.name in seam.ORDERED
    made.uniform = not naming.RANDOM.is_in(this.path) and uniform(this.values)
    made.data = this.name not in seam.SHAPES_ONLY and (made.data or naming.RANDOM.is_in(this.path))
    made.shape = () if gives_scalar(this.record) else None
    if this.path in seam.TENSOR_LISTS:
        return Sequence("list", [made], True, this.site, this.frame.context)
    return made


def _object(this: Call) -> Value:
    """Return an object of an outside class, which may keep what it is given."""
    transfer.touch(this.frame, this.values, this.site, this.name, Certainty.POSSIBLE, "unknown")
    made = ExternalObject(this.path, this.site, this.frame.context)
    made.arguments = tuple((each.keyword, each.value) for each in this.arguments)
    return made


def _call_given(this: Call) -> None:
    """Call a function given to an operation that is not modelled, perhaps, on tensors.

    What the device was to run as Python is never traced: the operation itself is the fault.
    """
    if this.name in seam.PYTHON_IN_GRAPH and this.frame.context.on_device:
        return
    for each in this.values:
        if isinstance(each, (Function, Bound, Partial)):
            with this.frame.when(ConditionKey(CALLED, this.site), True):
                element = Tensor(this.frame.context, this.site, "structure")
                count = parameter_count(this, each)
                args = tuple(given(element, this.site) for _ in range(count))
                call(this.frame, each, args, this.site)


def run_given(this: Call) -> Value:
    """`assertRaises(error, function, *arguments)`: the function is called."""
    for position, each in enumerate(this.values):
        if isinstance(each, (Function, Bound, Partial)):
            call(this.frame, each, this.arguments[position + 1 :], this.site)
    return UNKNOWN


def _of_object(this: Call, receiver: ExternalObject) -> Value:
    """Call a method of an outside object: a layer reads its weights, a dataset gives another."""
    if this.name in seam.METRIC_METHODS and ".metrics." in receiver.path:
        mode = seam.METRIC_METHODS[this.name]
        transfer.access(this.frame, weights(receiver), mode, this.name, this.site)
    sure = Certainty.DEFINITE if is_tensorflow(receiver.path) else Certainty.POSSIBLE
    transfer.touch(this.frame, this.values, this.site, this.name, sure, "unknown")
    if all_tensors(this.values):
        if this.name in ("call", "__call__", "apply"):
            return call_object(this.frame, receiver, this.arguments, this.site)
        return transfer.result(this.frame, this.values, this.site, "unseen")
    return ExternalObject(f"{receiver.path}.{this.name}", this.site, this.frame.context)


def call_object(
    frame: Frame, callee: ExternalObject, args: tuple[Argument, ...], site: Site
) -> Value:
    """Call an outside object: a layer reads its weights and gives a tensor."""
    frame.may_build()
    items = [each.value for each in args]
    transfer.touch(frame, items, site, callee.last)
    owned = weights(callee)
    if owned.sort == "weights":
        transfer.access(frame, owned, "read", callee.last, site)
    found = keras_layers.called(frame, callee, args, site)
    if found is not None:
        return found
    made = transfer.result(frame, items, site)
    if is_loss(callee):
        made.shape = () if reduction_of(callee) in ("sum", "mean") else None
        _record_loss(frame, callee, args, site, made)
    return layer_calls.noted(frame, callee, args, site, made)


def _record_loss(
    frame: Frame, loss: ExternalObject, args: tuple[Argument, ...], site: Site, made: Tensor
) -> None:
    """Keep the call of a Keras loss in a computation: rules ask how it reduces."""
    computation = frame.context.computation
    if computation is not None and not frame.context.muted:
        path = f"{loss.path}.__call__"
        computation.calls.append(ApiCall(path, site, frame.context, args, loss, made))


def unseen(this: Call) -> Value:
    """Call something that is not seen: tensors may go in, and a tensor may come out."""
    values = this.values
    transfer.touch(this.frame, values, this.site, this.name, Certainty.POSSIBLE, "unknown")
    if all_tensors(values):
        return transfer.result(this.frame, values, this.site, "unseen")
    if any(_is_optimizer(each) for each in values):
        return _object(this)  # a wrapper of what it is given, by all that is seen of it
    return UNKNOWN


def _is_optimizer(value: Value) -> bool:
    return isinstance(value, ExternalObject) and value.last.endswith("Optimizer")
