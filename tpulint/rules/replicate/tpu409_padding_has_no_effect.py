"""TPU409: `padding_spec` where TensorFlow pads nothing."""

from __future__ import annotations

from tpulint.absint.domain.events import Computation
from tpulint.absint.domain.objects import Sequence
from tpulint.absint.domain.values import NONE, Value
from tpulint.diagnostics.fixes import without_argument
from tpulint.frontends.tensorflow.shapes import described
from tpulint.queries import entry_calls
from tpulint.rules.base import Applicability, Program, Report, Rule, Severity, register


@register
class PaddingHasNoEffect(Rule):
    code = "TPU409"
    name = "padding-has-no-effect"
    severity = Severity.WARNING
    summary = "padding_spec without effect"
    fixes = (Applicability.SAFE,)

    def check(self, program: Program, report: Report) -> None:
        faults = entry_calls.faulty_arguments(program, "padding_spec", why_nothing)
        for entry, spec, certainty, reason in faults:
            report(
                spec.site.span,
                f"`padding_spec` has no effect {reason}: remove it",
                certainty=certainty,
                fix=without_argument(
                    entry.call.site, spec.keyword, "drop `padding_spec`", Applicability.SAFE
                ),
            )


def why_nothing(entry: Computation, spec: Value) -> str | None:
    """Return the reason why no input of the entry call is padded by a specification."""
    if not entry_calls.is_given(spec):
        return None
    shapes = entry_calls.argument_value(entry, "maximum_shapes")
    if shapes == NONE or entry_calls.is_empty(shapes):
        return "without `maximum_shapes`"
    inputs = entry_calls.argument_value(entry, "inputs")
    if entry_calls.replicas(entry) == 1:
        return "with one replica"
    if isinstance(inputs, Sequence) and not inputs.open:
        leaves = [_shapes(row) for row in inputs.items]
        are_known = all(shape is not None and None not in shape for row in leaves for shape in row)
        if are_known and all(row == leaves[0] for row in leaves):
            return "on inputs whose shapes are static and equal"
    return None


def _shapes(value: Value) -> list[tuple[int | None, ...] | None]:
    """Return the shapes of the tensors in one replica's inputs."""
    if isinstance(value, Sequence):
        shapes = [shape for item in value.items for shape in _shapes(item)]
        return [*shapes, None] if value.open else shapes
    return [described(value)[1]]
