"""Modules that were passed by, and are read after all where an estimator names what is in them."""

from __future__ import annotations

from tpulint.analysis.domain.events import ApiCall, Tensor
from tpulint.analysis.domain.objects import ExternalObject
from tpulint.analysis.domain.values import (
    UNKNOWN,
    Bound,
    Choice,
    DeferredName,
    External,
    Value,
    join,
)
from tpulint.analysis.interpreter import attributes, calls
from tpulint.analysis.models.call import Call
from tpulint.knowledge import naming


def kept(record: ApiCall, callee: DeferredName, found: Value) -> Value:
    """Return the result of calling what was passed by, with the call: it may be wanted later."""
    unseen = isinstance(found, Tensor) and found.sort == "unseen"
    if (found is UNKNOWN and naming.PIPELINE_PART.is_in(callee.name)) or (
        unseen and naming.HOST_CALL.is_in(callee.name)
    ):
        found = ExternalObject(callee.path, record.site, record.context)
    if isinstance(found, ExternalObject):
        found.callee, found.given = callee, record.arguments
    return found


def after_all(this: Call, value: Value) -> Value:
    """`value` with what was passed by read now: a function, or what one was called for."""
    frame = this.frame
    value = frame.session.read_after_all(value)
    if isinstance(value, Choice):
        return join(after_all(this, each) for each in value.options)
    if (
        isinstance(value, Bound)
        and isinstance(value.receiver, ExternalObject)
        and value.receiver.callee
    ):
        receiver = after_all(this, value.receiver)
        if isinstance(value.function, External) and not isinstance(receiver, ExternalObject):
            return attributes.get(frame, receiver, value.function.last, this.site)
    if isinstance(value, ExternalObject) and value.callee is not None:
        callee = frame.session.read_after_all(value.callee)
        if not isinstance(callee, External):
            return calls.call(frame, callee, value.given, value.site)
    return value
