"""One call of an API while it is being answered, and what models ask of its arguments."""

from __future__ import annotations

from collections.abc import Callable

from tpulint.absint.domain.context import Scope
from tpulint.absint.domain.events import ApiCall, Argument, Tensor
from tpulint.absint.domain.objects import ExternalObject, Function, Sequence, function_of
from tpulint.absint.domain.structures import MAX_STRUCTURE_DEPTH, STRUCTURES, copied
from tpulint.absint.domain.values import Bound, Choice, Opaque, Partial, Value
from tpulint.absint.interpreter import calls, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow import deferred

CALLABLE = (Function, Bound, Partial)  # what a model may call with arguments of its own choice


class Call:
    """`record` is what rules will see; `receiver` is what a method was called on."""

    def __init__(self, frame: Frame, record: ApiCall) -> None:
        self.frame = frame
        self.record = record
        self.name = record.last
        self.path = record.path
        self.site = record.site
        self.receiver = record.receiver
        self.arguments = record.arguments
        self.values = [argument.value for argument in record.arguments]

    def get(self, keyword: str, position: int | None = None) -> Value | None:
        """Return the value of an argument, None where it is not given."""
        argument = self.record.argument(keyword, position)
        return argument.value if argument is not None else None

    @property
    def base(self) -> str:
        """The name before the last dot: that of the receiver, or of the module."""
        if isinstance(self.receiver, (Opaque, ExternalObject)):
            return self.receiver.last
        return self.path.rpartition(".")[0].rpartition(".")[2]

    def operation(self, sort: str = "tensor", certainty: Certainty = Certainty.DEFINITE) -> Tensor:
        """Build an operation that takes all arguments."""
        transfer.touch(self.frame, self.values, self.site, self.name, certainty)
        return transfer.result(self.frame, self.values, self.site, sort)

    def run_inside(
        self, scope: Scope, callee: Value, values: list[Value] | tuple[Argument, ...]
    ) -> Value:
        """Call `callee` with one more scope around it."""
        args = tuple(
            value if isinstance(value, Argument) else calls.positional_argument(value, self.site)
            for value in values
        )
        with self.frame.within(scope):
            return calls.call(self.frame, callee, args, self.site, "")


def parameter_count(call: Call, callee: Value) -> int:
    """Return the number of positional arguments `callee` wants; one where it is not seen."""
    function = function_of(callee)
    if function is None:
        return 1
    rows = function.code.parameters.by_position
    required = [name for name, default in rows if default is None]
    return max(len(required) - (1 if isinstance(callee, Bound) else 0), 0)


# Returns the result of a call, None where it is not for this model.
Model = Callable[[Call], "Value | None"]


def snapshot(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Copy the structures in arguments: a program may change its lists and dicts later."""
    for argument in arguments:
        if isinstance(argument.value, STRUCTURES):
            break
    else:
        return arguments
    return tuple(
        Argument(
            argument.keyword, argument.star, _copy(argument.value), argument.site, argument.node
        )
        if isinstance(argument.value, STRUCTURES)
        else argument
        for argument in arguments
    )


def _copy(value: Value, depth: int = 0) -> Value:
    if depth > MAX_STRUCTURE_DEPTH or not isinstance(value, STRUCTURES):
        return value
    if isinstance(value, Choice):
        copies = tuple(_copy(option, depth + 1) for option in value.options)
        same = all(copy is option for copy, option in zip(copies, value.options, strict=True))
        return value if same else Choice(copies)
    if isinstance(value, Sequence):
        if value.kind == "tuple" and not any(isinstance(item, STRUCTURES) for item in value.items):
            return value
        rows = [_copy(item, depth + 1) for item in value.items]
        kind, is_open, site, context = value.kind, value.open, value.site, value.made
        return Sequence(kind, rows, is_open, site, context, value.alike, value.places)
    items = {key: _copy(item, depth + 1) for key, item in value.items.items()}
    return copied(value, value.made, items)


def force_deferred(call: Call, value: Value) -> Value:
    """Return `value` with skipped modules read now: a function, or the result of calling one."""
    return deferred.force(call.frame, value, call.site)
