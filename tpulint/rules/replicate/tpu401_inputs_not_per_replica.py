"""TPU401: `inputs` of replicate that are not a list of lists."""

from __future__ import annotations

from tpulint.absint.domain.events import Computation, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject, Mapping, Sequence
from tpulint.absint.domain.values import NONE, Const, Value
from tpulint.diagnostics.fixes import a_list_each
from tpulint.queries.entry_calls import faulty_arguments
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register


@register
class InputsNotPerReplica(Rule):
    code = "TPU401"
    name = "inputs-not-per-replica"
    severity = Severity.ERROR
    summary = "replicate inputs that are not a list of lists"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        for entry, inputs, certainty, _ in faulty_arguments(program, "inputs", _lacks_lists):
            if any(isinstance(it, Sequence) and it.open for it in inputs.value.options):
                certainty = Certainty.POSSIBLE  # the element that is wrong may not be in it
            report(
                inputs.site.span,
                f"`inputs` of `{entry.kind}` is not a list of lists: TensorFlow expects one list "
                "of inputs for each replica; pass `[[x], [y]]`",
                certainty=certainty,
                fix=a_list_each(inputs, entry.callee),
            )


def _lacks_lists(_entry: Computation, value: Value) -> bool:
    """Return whether `value` certainly is no list with a list for each replica."""
    if isinstance(value, Sequence):
        return value.kind != "list" or any(all(map(_is_no_row, it.options)) for it in value.items)
    # `inputs=None` means one replica without inputs (tpu.py, `split_compile_and_replicate`).
    return value != NONE and _is_no_row(value)


def _is_no_row(value: Value) -> bool:
    """Return whether `value` is certainly neither a list nor a tuple."""
    if isinstance(value, Sequence):
        return value.kind == "set"
    if isinstance(value, Tensor):
        # Only what a literal made, or of which the shape is seen, is certainly one tensor.
        return value.dtype is not None or value.shape is not None
    if isinstance(value, ExternalObject):
        return value.path.startswith("numpy.")
    return isinstance(value, (Const, Mapping, Variable))
