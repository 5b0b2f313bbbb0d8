"""TPU904: a large tensor whose last dimension is small is mostly padding."""

from __future__ import annotations

from tpulint.absint.domain.events import ApiCall, Tensor
from tpulint.absint.domain.objects import Sequence
from tpulint.diagnostics.traces import path_to
from tpulint.file_facts import is_test
from tpulint.frontends.tensorflow.knowledge.tf_names import is_tensorflow
from tpulint.hardware import MOSTLY_PADDING, dense_bytes, padding_factor, readable_bytes
from tpulint.queries.device_code import compiled_calls
from tpulint.queries.entry_calls import constant_int
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

# What takes less of 8 GB is nothing that a program has to be changed for.
LEAST_PADDED = 256 * 1024 * 1024
ELEMENT = "float32"  # what both make of what is not seen: 4 bytes


@register
class PaddedTensor(Rule):
    code = "TPU904"
    name = "padded-tensor"
    severity = Severity.PERFORMANCE
    summary = "a large tensor whose last dimension is small, which tiles pad"

    def check(self, program: Program, report: Report) -> None:
        for computation, call in compiled_calls(program):
            shape = shape_made_by(call)
            if shape is None or is_test(call.site.module.path):
                continue
            factor, size = padding_factor(shape, ELEMENT), dense_bytes(shape, ELEMENT)
            if factor < MOSTLY_PADDING or size * factor < LEAST_PADDED:
                continue
            words = ", ".join(map(str, shape))
            report(
                call.site.span,
                f"`{call.last}` makes a tensor of [{words}], whose rows a TPU pads to 128"
                f" elements: {factor:.3g} x the memory, {readable_bytes(size)} takes"
                f" {readable_bytes(size * factor)}; make the large dimension the last one",
                certainty=Certainty.POSSIBLE,  # the compiler may choose another layout
                trace=path_to(computation, call, "makes the tensor"),
                doubt="if XLA keeps it in this order and does not fuse it away",
            )


def shape_made_by(call: ApiCall) -> tuple[int, ...] | None:
    """Return the shape that `one_hot` or `reshape` makes of constants; None if it is not known."""
    if not is_tensorflow(call.path) or not call.arguments:
        return None
    if call.last == "one_hot" and call.argument("axis", 4) is None:
        indices = call.value("indices", 0)
        rows = indices.shape if isinstance(indices, Tensor) else None
        shape = [*(rows or (None,)), constant_int(call.value("depth", 1))]
    else:
        wanted = call.value("shape", 1) if call.last == "reshape" else None
        items = wanted.items if isinstance(wanted, Sequence) and not wanted.open else []
        shape = list(map(constant_int, items))
    sizes = tuple(size for size in shape if size is not None and size > 0)
    return sizes if len(sizes) == len(shape) >= 2 else None
