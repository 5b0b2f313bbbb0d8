"""TPU407: an operation where a tensor must be in the outputs of a computation."""

from __future__ import annotations

from tpulint.absint.domain.events import Tensor
from tpulint.absint.domain.objects import Mapping, Sequence
from tpulint.absint.domain.structures import parts
from tpulint.absint.domain.values import Choice, Value
from tpulint.frontends.tensorflow.knowledge.tf_names import is_tensorflow
from tpulint.queries.certainty import doubt_about_guess, on_tpu_if
from tpulint.queries.eager_calls import may_be_tpus
from tpulint.queries.entry_calls import certainty_if, replicate_calls
from tpulint.queries.strategies import is_run
from tpulint.rules.base import Program, Report, Rule, Severity, register

# tensorflow/python/ops/control_flow_ops.py, logging_ops.py and check_ops.py
OPERATIONS = frozenset(
    ["group", "no_op", "print", "assert_equal", "assert_greater", "assert_less", "assert_positive"]
)
IN_TUPLE = "`run` packs only tensors into this tuple, which holds an operation: return the tensors"


@register
class BadOutputOrder(Rule):
    code = "TPU407"
    name = "bad-output-order"
    severity = Severity.ERROR
    summary = "an operation where a tensor must be in the outputs"

    def check(self, program: Program, report: Report) -> None:
        _check_runs(program, report)
        for entry in replicate_calls(program):
            if entry.mode != "graph" or entry.result is None:
                continue
            certainty = certainty_if(entry, not isinstance(entry.result, Choice))
            for output in entry.result.options:
                message = fault(output)
                if message is not None:
                    site = getattr(output, "site", None) or entry.site
                    report(site.span, message, certainty=certainty)


def _check_runs(program: Program, report: Report) -> None:
    """Check what the functions given to `run` of a TPUStrategy return."""
    for entry in program.computations:
        if not is_run(entry) or entry.result is None or not may_be_tpus(entry):
            continue
        for output in entry.result.options:
            if not isinstance(output, (Sequence, Mapping)) or output.site is None:
                continue
            # What a function of Keras or of TensorFlow 1 returns depends on the release.
            if not all(is_built(program, leaf) for leaf in _leaves(output) if is_operation(leaf)):
                continue
            is_tuple = isinstance(output, Sequence) and output.kind == "tuple"
            # tensorflow/python/distribute/tpu_strategy.py, `tpu_function`: only of a list are
            # operations taken out.
            is_refused = is_tuple and any(map(is_operation, parts(output)))
            message = fault(output) or (IN_TUPLE if is_refused else None)
            if message is not None:
                report(
                    output.site.span,
                    message,
                    certainty=on_tpu_if(entry, entry.context, not isinstance(entry.result, Choice)),
                    doubt=doubt_about_guess(entry.context) or "if the strategy is a TPU's",
                )


def is_built(program: Program, value: Value) -> bool:
    """Return whether this certainly is an operation in a traced function, in all releases."""
    calls = program.by_result.get(id(value), ())
    return any(call.last in OPERATIONS and is_tensorflow(call.path) for call in calls)


def fault(output: Value) -> str | None:
    """Return TensorFlow's objection to a computation's output."""
    items = parts(output) if isinstance(output, (Sequence, Mapping)) else []
    is_nested = any(isinstance(item, (Sequence, Mapping)) for item in items)
    # What has no nesting that TensorFlow sees (xla.is_flat).
    if not isinstance(output, Mapping) and not is_nested:
        positions = [number for number, item in enumerate(items) if is_operation(item)]
        # tpu.py, `_postprocess_flat_outputs`: tensors come first, then operations.
        if positions and any(
            isinstance(item, Tensor) and item.sort == "tensor" for item in items[positions[0] :]
        ):
            return "an operation comes before a tensor in the outputs: return the tensors first"
        return None
    if any(is_operation(leaf) for leaf in _leaves(output)):
        return "a nested output holds an operation: make it a control dependency of a tensor"
    return None


def _leaves(value: Value) -> list[Value]:
    if not isinstance(value, (Sequence, Mapping)):
        return [value]
    return [leaf for item in parts(value) for leaf in _leaves(item)]


def is_operation(value: Value) -> bool:
    return isinstance(value, Tensor) and value.sort == "operation"
