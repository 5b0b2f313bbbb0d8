"""TPU802: a name that the target TensorFlow removed or renamed."""

from __future__ import annotations

from tpulint.diagnostics.absent_names import advice, first_without, grouped, rename, shown
from tpulint.frontends.tensorflow.knowledge import names
from tpulint.queries.certainty import definite_if
from tpulint.queries.environment import may_know_the_release, path_in_table, target_at
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register

SEQUENTIAL = "tensorflow.keras.Sequential"  # a Model


@register
class RemovedApi(Rule):
    code = "TPU802"
    name = "removed-api"
    severity = Severity.ERROR
    summary = "a name that the target TensorFlow removed or renamed"
    fixes = (Applicability.SAFE, Applicability.UNSAFE)

    def check(self, program: Program, report: Report) -> None:
        broken, single = grouped(program, gone=True)
        for fault in broken:
            report(fault.span, fault.message, certainty=Certainty.POSSIBLE, trace=fault.trace)
        for absent_name in single:
            report(
                absent_name.spelled.span,
                f"`{shown(absent_name.spelled)}` no longer exists in TensorFlow"
                f" {first_without(absent_name.spelled)}{advice(absent_name)}",
                certainty=absent_name.certainty,
                fix=rename(absent_name, program),
            )
        # The methods that the class of their object no longer has.
        for call in program.all_named(names.methods("removed")):
            removed = names.methods("removed")[call.last]
            path = path_in_table(call) if call.path.startswith("?.") else ""
            if path.rpartition(".")[0] not in (removed.on, SEQUENTIAL):
                continue
            target, having = target_at(program, call.site, path), names.having(path)
            if not target.stated or having & target.installed or having > target.newest:
                continue
            last = names.releases()[having.bit_length()]
            report(
                call.site.span,
                f"`{call.last}` no longer exists in TensorFlow {last}: use `{removed.new}`",
                certainty=definite_if(
                    not call.context.is_guess,
                    not having & target.mask,
                    not may_know_the_release(call.context),
                ),
            )
