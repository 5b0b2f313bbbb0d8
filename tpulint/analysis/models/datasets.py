"""Input pipelines: the steps of a `tf.data.Dataset`, each with the step before it."""

from __future__ import annotations

from tpulint.analysis.domain.context import DATA, Scope
from tpulint.analysis.domain.events import Tensor
from tpulint.analysis.domain.objects import ExternalObject, Function
from tpulint.analysis.domain.structures import is_dataset
from tpulint.analysis.domain.values import UNKNOWN, Bound, Choice, Partial, Value, join, options
from tpulint.analysis.interpreter import transfer
from tpulint.analysis.interpreter.calls import call, given
from tpulint.analysis.models.call import Call, parameter_count
from tpulint.finding import Certainty
from tpulint.knowledge import seam

CALLABLE = (Function, Bound, Partial)
BATCHES = frozenset(["batch", "padded_batch"])
UNSEEN = "tensorflow.data.Dataset"


def answer(this: Call) -> Value | None:
    """Call a method of a dataset, or of one of several datasets."""
    receiver = this.receiver
    if receiver is UNKNOWN and this.name in BATCHES and this.get("drop_remainder") is not None:
        receiver = ExternalObject(UNSEEN, this.site, this.frame.context)  # nothing else has these
    if this.name not in seam.DATASET_METHODS or not isinstance(receiver, (ExternalObject, Choice)):
        return None
    if not is_dataset(receiver):
        return None
    if this.name == "apply" and this.values and isinstance(this.values[0], CALLABLE):
        return call(this.frame, this.values[0], (given(receiver, this.site),), this.site)
    made = _step(this, receiver)
    if this.name in seam.PIPELINE:
        made.inner = _elements_made(this)
    else:
        taken = [each for each in this.values if not isinstance(each, CALLABLE)]
        transfer.touch(this.frame, taken, this.site, this.name, Certainty.DEFINITE, "unknown")
    return made


def _step(this: Call, receiver: Value) -> ExternalObject:
    first = options(receiver)[0]
    assert isinstance(first, ExternalObject)
    made = ExternalObject(
        f"{first.path}.{this.name}", this.site, this.frame.context, source=receiver
    )
    made.arguments = tuple((each.keyword, each.value) for each in this.arguments)
    return made


def _elements_made(this: Call) -> Value | None:
    """Call the given functions. They run on the host, outside every computation."""
    scope = Scope(DATA, this.site)
    found = []
    for each in this.values:
        functions = options(each)
        if all(isinstance(option, CALLABLE) for option in functions):
            element = Tensor(None, this.site, "structure")
            # A dataset's function takes the components of an element, or the element.
            args: list[Value] = [element] * parameter_count(this, functions[0])
            found.append(this.run_inside(scope, each, args))
    return join(found) if found else None
