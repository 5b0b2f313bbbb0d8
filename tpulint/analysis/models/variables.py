"""State that outlives a step: who makes it, who reads it, who writes it."""

from __future__ import annotations

from tpulint.analysis.domain.events import Tensor, Variable
from tpulint.analysis.domain.objects import ExternalObject
from tpulint.analysis.domain.properties import is_counter, uniform
from tpulint.analysis.domain.values import NONE, UNKNOWN, Const, External, Opaque, Value, options
from tpulint.analysis.interpreter import transfer
from tpulint.analysis.interpreter.attributes import get
from tpulint.analysis.interpreter.calls import call
from tpulint.analysis.models import variable_scopes
from tpulint.analysis.models.call import Call
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.strategy import scope_strategy
from tpulint.knowledge import seam

INTEGERS = ("int32", "int64")
NAMED = ("get_variable", "get_local_variable")  # what gives one variable for one name
# The calls by whose names state is made, read or written; methods of variables aside.
ANSWERED = frozenset().union(
    seam.GLOBAL_STEP,
    seam.STEP_SUMMARIES,
    seam.VARIABLE_MAKERS,
    seam.ASSIGN_FUNCTIONS,
    seam.OPTIMIZER_UPDATES,
)


def answer(this: Call) -> Value | None:
    if isinstance(this.receiver, Variable):
        return _method(this, this.receiver)
    if this.name in seam.GLOBAL_STEP:
        return _global_step(this)
    if this.name in seam.STEP_SUMMARIES and _is_stepped_summary(this):
        transfer.access(this.frame, _global_step(this), "read", this.name, this.site)
        return None
    if this.name in seam.VARIABLE_MAKERS and _makes_here(this):
        return _make(this)
    if this.name in seam.ASSIGN_FUNCTIONS and this.receiver is None:
        return _assign(this)
    if isinstance(this.receiver, ExternalObject) and this.name in seam.OPTIMIZER_UPDATES:
        return _update(this, this.receiver)
    return None


def _global_step(this: Call) -> Variable:
    return this.frame.session.only_variable("global_step", "step")


def answer_unseen(this: Call) -> Value | None:
    """Take the receiver for a variable where only variables have the method."""
    receiver = this.receiver
    if isinstance(receiver, Opaque) and this.name in seam.VARIABLE_METHODS:
        known = receiver.taken_for.get(Variable)
        if not isinstance(known, Variable):
            known = Variable(receiver.path, "variable", this.site, None, assumed=True)
            receiver.taken_for[Variable] = known
        return _method(this, known)
    if isinstance(receiver, Opaque) and this.name in seam.OPTIMIZER_UPDATES:
        return _update_unseen(this, receiver)
    return None


def _is_stepped_summary(this: Call) -> bool:
    """tensorflow/contrib/summary: without a step these take the global step."""
    if not any(each in this.path for each in seam.STEP_SUMMARY_MODULES):
        return False
    if this.name == "record_summaries_every_n_global_steps":
        named = this.get("global_step", 1)
    else:
        named = this.get("step", 3 if this.name in ("scalar", "generic", "histogram") else None)
    return named is None or named == NONE


def _makes_here(this: Call) -> bool:
    """Return whether this is a maker of an outside module, or add_weight on a project's layer."""
    if this.receiver is None:
        return not this.path.startswith("builtins.")
    return this.name in ("add_weight", "add_variable")


def _make(this: Call) -> Value:
    frame = this.frame
    name, sort = _name(this), seam.VARIABLE_MAKERS[this.name]
    # TensorFlow finds the global step by this name.
    sort = "step" if (name, sort) == ("global_step", "variable") else sort
    named = variable_scopes.identity(this, _given_name(this)) if this.name in NAMED else None
    found = frame.session.variable(
        name, sort, this.site, frame.context, named, reuse=variable_scopes.reuses(this)
    )
    found.counts = _counts_steps(this)
    transfer.access(frame, found, "create", this.name, this.site)
    transfer.touch(frame, _without_functions(this), this.site, this.name)
    return found


def _counts_steps(this: Call) -> bool:
    """Return whether a graph's computation makes an integer of its own, which no training changes.

    A strategy's replicas may not meet under a condition on one, whatever it holds.
    """
    computation = this.frame.context.computation
    dtype = this.get("dtype", 2 if this.name in NAMED else None)
    if computation is None or computation.mode != "graph" or dtype is None:
        return False
    return all(isinstance(each, External) and each.last in INTEGERS for each in options(dtype))


def _without_functions(this: Call) -> list[Value]:
    return [each.value for each in this.arguments if isinstance(each.value, Tensor)]


def _given_name(this: Call) -> Value | None:
    return this.get("name", 0 if this.name in (*NAMED, "add_weight") else None)


def _name(this: Call) -> str:
    given = _given_name(this)
    if isinstance(given, Const) and isinstance(given.value, str):
        return given.value
    return this.name


def _method(this: Call, variable: Variable) -> Value:
    """Call a method of a variable: a read, a write, or nothing that matters."""
    frame = this.frame
    if this.name in seam.WRITES:
        transfer.touch(frame, this.values, this.site, this.name)
        transfer.access(frame, variable, "write", this.name, this.site)
        if this.name == "execute" and this.arguments:
            return call(frame, this.values[0], (), this.site)
    elif this.name in seam.READS:
        transfer.touch(frame, this.values, this.site, this.name)
        transfer.access(frame, variable, "read", this.name, this.site)
    elif this.name in ("get_shape", "set_shape", "is_initialized", "from_proto"):
        return UNKNOWN
    else:
        transfer.touch(frame, [variable, *this.values], this.site, this.name)
    return _written(this, variable, transfer.result(frame, this.values, this.site))


def _written(this: Call, variable: Variable, made: Tensor) -> Tensor:
    """Return the result of a method: `v.assign(x)` gives the variable, which others may read."""
    if this.name not in seam.ASSIGNS:
        return made
    if made.operation is not None:
        made.operation.sources = ()  # it waits for the write, and takes no data
    if this.get("read_value") != Const(False):
        made.unread = variable if scope_strategy(variable.made) is None else None
        made.uniform = is_counter(variable) and uniform(this.values)
    return made


def _assign(this: Call) -> Value | None:
    """`tf.compat.v1.assign(v, x)` and its kin."""
    target = this.get("ref", 0)
    found = [each for each in options(target or UNKNOWN) if isinstance(each, Variable)]
    if not found:
        return None
    rest = [each.value for each in this.arguments[1:]]
    transfer.touch(this.frame, rest, this.site, this.name)
    for variable in found:
        transfer.access(this.frame, variable, "write", this.name, this.site)
    made = transfer.result(this.frame, rest, this.site)
    return _written(this, found[0], made) if len(found) == 1 else made


def _update(this: Call, optimizer: ExternalObject) -> Value:
    """Write the variables that an optimizer's update is given, and the step it counts."""
    frame = this.frame
    values = this.values
    taken = [each for each in values if not isinstance(each, Variable)]
    transfer.touch(frame, [*taken, *_kept(optimizer)], this.site, this.name)
    _count(this)
    iterations = optimizer.attributes.get("iterations")
    if "keras" in optimizer.path or isinstance(iterations, Variable) or _is_v2(optimizer):
        counted = _iterations(this, optimizer)
        transfer.access(frame, counted, "write", this.name, this.site)
    written = this.get("var_list", 1) if this.name == "minimize" else None
    for variable in transfer.variables(written if written is not None else UNKNOWN):
        transfer.access(frame, variable, "write", this.name, this.site)
    return transfer.result(frame, values, this.site, "operation")


def _kept(optimizer: ExternalObject) -> list[Value]:
    """Return the arguments of the optimizer and of one it wraps: the rate may be a tensor."""
    found: list[Value] = []
    for _, value in optimizer.arguments:
        found += _kept(value) if isinstance(value, ExternalObject) else [value]
    return found


def _count(this: Call) -> None:
    """Count the step that is given; TF1's optimizers take it second."""
    step = this.get("global_step", 1)
    if isinstance(step, Variable) and step.sort == "step":
        transfer.access(this.frame, step, "write", this.name, this.site)


def _is_v2(optimizer: ExternalObject) -> bool:
    return ".optimizers." in f".{optimizer.path}."


def _iterations(this: Call, optimizer: ExternalObject) -> Variable:
    found = get(this.frame, optimizer, "iterations", this.site)
    assert isinstance(found, Variable)
    return found


def _update_unseen(this: Call, receiver: Opaque) -> Value:
    """Call an optimizer that is not seen: it takes its arguments, and counts its own iterations."""
    _count(this)
    transfer.touch(this.frame, this.values, this.site, this.name, Certainty.DEFINITE, "unknown")
    return transfer.result(this.frame, this.values, this.site, "operation")
