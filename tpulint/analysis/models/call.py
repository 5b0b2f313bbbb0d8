"""One call of an API while it is being answered."""

from __future__ import annotations

from collections.abc import Callable

from tpulint.analysis.domain.context import Scope
from tpulint.analysis.domain.events import ApiCall, Argument, Tensor
from tpulint.analysis.domain.objects import function_of
from tpulint.analysis.domain.values import Bound, Opaque, Value
from tpulint.analysis.interpreter import transfer
from tpulint.analysis.interpreter.calls import call, given
from tpulint.analysis.interpreter.frame import Frame
from tpulint.finding import Certainty


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
        self.values = [each.value for each in record.arguments]

    def get(self, keyword: str, position: int | None = None) -> Value | None:
        """Return the value of an argument, None where it is not given."""
        found = self.record.argument(keyword, position)
        return found.value if found is not None else None

    @property
    def base(self) -> str:
        """The name before the last dot, of the path or of the opaque receiver."""
        if isinstance(self.receiver, Opaque):
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
            each if isinstance(each, Argument) else given(each, self.site) for each in values
        )
        with self.frame.within(scope):
            return call(self.frame, callee, args, self.site, "")


def parameter_count(this: Call, callee: Value) -> int:
    """Return the number of positional arguments `callee` wants; one where it is not seen."""
    function = function_of(callee)
    if function is None:
        return 1
    rows = function.code.parameters.by_position
    required = [name for name, default in rows if default is None]
    return max(len(required) - (1 if isinstance(callee, Bound) else 0), 0)


Answer = Callable[[Call], "Value | None"]
