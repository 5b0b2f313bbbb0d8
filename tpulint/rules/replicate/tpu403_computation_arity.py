"""TPU403: the computation cannot take the number of inputs that it is given."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from tpulint.absint.domain.events import Argument, Computation
from tpulint.absint.domain.objects import AS_WRITTEN, ExternalObject, Function, Mapping, Sequence
from tpulint.absint.domain.values import NONE, Bound, Choice, Partial, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.arity import misfit
from tpulint.queries import entry_calls
from tpulint.queries.strategies import is_run
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register


@register
class ComputationArity(Rule):
    code = "TPU403"
    name = "computation-arity"
    severity = Severity.ERROR
    summary = "the computation cannot take the inputs it is given"

    def check(self, program: Program, report: Report) -> None:
        misfits = entry_calls.faulty_arguments(
            program, "computation", _misfits, tuple(entry_calls.SIGNATURES)
        )
        for entry, computation, certainty, _ in misfits:
            message = _message(computation.value, input_count(entry))
            inputs = entry_calls.argument_value(entry, "inputs")
            is_open = isinstance(inputs, Sequence) and inputs.open
            report(entry.site.span, message, certainty=Certainty.POSSIBLE if is_open else certainty)
        for entry in program.computations:
            if is_run(entry):
                _check_run(entry, report)


def _misfits(entry: Computation, callee: Value) -> bool:
    """Return whether a callee cannot take as many inputs as the entry call gives."""
    arity, count = arity_of(callee), input_count(entry)
    return arity is not None and count is not None and not arity.takes(count)


def _check_run(entry: Computation, report: Report) -> None:
    """Report what a strategy's `run` is given that its function cannot take.

    Which function goes with which arguments may depend on a test, so none is around.
    """
    arguments = _arguments_of_run(entry)
    if arguments is None or entry.context.forks:
        return
    reason = misfit(entry.callee, arguments)
    if reason is not None:
        report(
            entry.site.span,
            f"{traces.callee_name(entry.callee)} does not accept what `{entry.kind}` gives it:"
            f" {reason}; pass what it takes",
            certainty=entry.certainty if not entry.context.hides_faults else Certainty.POSSIBLE,
        )


def _arguments_of_run(entry: Computation) -> tuple[Argument, ...] | None:
    """Return the arguments that `run` passes on; None where they are not seen."""
    call = entry.call
    args, kwargs = call.argument("args", 1), call.argument("kwargs", 2)
    if call.is_starred:
        return None
    arguments: list[Argument] = []
    if args is not None and args.value != NONE:
        if not isinstance(args.value, Sequence) or args.value.open:
            return None
        arguments += [Argument(None, "", item, args.site) for item in args.value.items]
    if kwargs is not None and kwargs.value != NONE:
        if not isinstance(kwargs.value, Mapping) or kwargs.value.open:
            return None
        names = kwargs.value.items
        arguments += [Argument(str(name), "", item, kwargs.site) for name, item in names.items()]
    return tuple(arguments)


def _message(callee: Value, count: int | None) -> str:
    arity = arity_of(callee)
    name = traces.callee_name(callee) if not isinstance(callee, Choice) else "the computation"
    if arity is NEVER:
        return (
            f"{name} has a keyword-only argument, but TensorFlow passes none by keyword: give it a"
            " default"
        )
    never = arity is not None and not arity.takes(arity.least)
    function = callee
    while isinstance(function, Partial):
        function = function.function
    if never and isinstance(function, Bound):
        return (
            f"{name} is a bound method, which TensorFlow refuses because it counts `self`: wrap it"
            " in a lambda"
        )
    takes = "another number" if arity is None or never else str(arity)
    return (
        f"{name} is given {count} input{'' if count == 1 else 's'} but takes {takes}: pass as many"
        " in each list of `inputs`"
    )


class Arity(NamedTuple):
    """The number of positional arguments taken: `most` is inf where there is no limit."""

    least: int
    most: float

    def takes(self, count: int) -> bool:
        return self.least <= count <= self.most

    def __str__(self) -> str:
        if self.least == self.most:
            return str(self.least)
        return f"at least {self.least}" if self.most == inf else f"{self.least} to {self.most}"


NEVER = Arity(1, 0)


def arity_of(callee: Value) -> Arity | None:
    """Return the arity that `check_function_argument_count` and Python accept; None if unseen."""
    if isinstance(callee, Partial):
        inner = arity_of(callee.function)
        if inner is None or callee.kwargs:
            return None
        if inner is NEVER:
            return NEVER
        first = len(callee.args)
        return Arity(max(inner.least - first, 0), inner.most - first)
    function = callee.function if isinstance(callee, Bound) else callee
    # A decorator that is not seen may give the function another signature.
    if not isinstance(function, Function):
        return None
    if function.code.decorators and AS_WRITTEN not in function.hints:
        return None
    if any(default is None for _, default in function.code.parameters.keyword_only):
        return NEVER
    rows = function.code.parameters.by_position
    least = sum(default is None for _, default in rows)
    most = inf if function.code.parameters.star is not None else len(rows)
    # xla.py, `check_function_argument_count`, counts `self` of a bound method among `least`, and
    # Python passes it as well.
    return Arity(least, most - 1 if isinstance(callee, Bound) else most)


def input_count(entry: Computation) -> int | None:
    """Return the number of inputs of one replica, those of an infeed queue included."""
    inputs = entry_calls.argument_value(entry, "inputs")
    if entry.kind in entry_calls.REPLICATES and isinstance(inputs, Sequence):
        rows = inputs.items
        counts = {len(row.items) if isinstance(row, Sequence) else -1 for row in rows}
        # A loop appends rows like those that are seen.
        if not rows or rows[0] == NONE or (inputs.open and len(counts) > 1):
            return None
        inputs = rows[0]
    if inputs == NONE:
        count = 0
    elif isinstance(inputs, Sequence) and not inputs.open:
        count = len(inputs.items)
    else:
        return None
    queue = entry_calls.argument_value(entry, "infeed_queue")
    if queue == NONE:
        return count
    if not isinstance(queue, ExternalObject) or queue.last != "InfeedQueue":
        return None
    # The number of tuple elements of a tpu_feed.InfeedQueue.
    number, types = queue.argument("number_of_tuple_elements", 0), queue.argument("tuple_types", 1)
    fed = entry_calls.constant_int(number)
    if number in (None, NONE) and isinstance(types, Sequence) and not types.open:
        fed = len(types.items)
    return None if fed is None else count + fed
