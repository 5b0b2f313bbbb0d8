"""TPU407: an operation where a tensor must be in the outputs of a computation."""

from __future__ import annotations

from tpulint.absint.domain.events import Tensor
from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.values import Choice, Value, options
from tpulint.finding import Certainty, Severity
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.entry_calls import is_from_tensorflow, replicate_calls
from tpulint.rules.base import Report, Rule, register


@register
class BadOutputOrder(Rule):
    code = "TPU407"
    name = "bad-output-order"
    severity = Severity.ERROR
    summary = "an operation where a tensor must be in the outputs"

    def check(self, program: Program, report: Report) -> None:
        for entry in replicate_calls(program):
            if entry.mode != "graph" or entry.result is None:
                continue
            is_certain_call = is_from_tensorflow(entry) and not entry.context.is_guess
            is_certain = is_certain_call and not isinstance(entry.result, Choice)
            for output in options(entry.result):
                message = fault(output)
                if message is None:
                    continue
                site = getattr(output, "site", None) or entry.site
                report(
                    site.span,
                    message,
                    certainty=entry.certainty if is_certain else Certainty.POSSIBLE,
                )


def fault(output: Value) -> str | None:
    """Return TensorFlow's objection to a computation's output."""
    if _is_flat(output):
        items = output.items if isinstance(output, Sequence) else []
        positions = [number for number, item in enumerate(items) if is_operation(item)]
        # tpu.py, `_postprocess_flat_outputs`: tensors come first, then operations.
        if positions and any(_is_tensor(item) for item in items[positions[0] :]):
            return "an operation comes before a tensor in the outputs: return the tensors first"
        return None
    if any(is_operation(leaf) for leaf in _leaves(output)):
        return "a nested output holds an operation: make it a control dependency of a tensor"
    return None


def _is_flat(output: Value) -> bool:
    """Return whether the output certainly has no nesting that TensorFlow sees (xla.is_flat)."""
    if isinstance(output, Mapping):
        return False
    nested = (Sequence, Mapping)
    return not isinstance(output, Sequence) or not any(
        isinstance(item, nested) for item in output.items
    )


def _leaves(value: Value) -> list[Value]:
    if isinstance(value, Sequence):
        return [leaf for item in value.items for leaf in _leaves(item)]
    if isinstance(value, Mapping):
        return [leaf for item in value.items.values() for leaf in _leaves(item)]
    return [value]


def is_operation(value: Value) -> bool:
    return isinstance(value, Tensor) and value.sort == "operation"


def _is_tensor(value: Value) -> bool:
    return isinstance(value, Tensor) and value.sort == "tensor"
