"""TPU408: more cores or other replicas than one whole topology gives, and no assignment."""

from __future__ import annotations

from tpulint.absint.domain.events import ApiCall
from tpulint.absint.domain.values import NONE
from tpulint.queries import entry_calls
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register


@register
class DeviceAssignmentNeeded(Rule):
    code = "TPU408"
    name = "device-assignment-needed"
    severity = Severity.ERROR
    summary = "a device assignment is needed and missing"

    def check(self, program: Program, report: Report) -> None:
        for entry in entry_calls.replicate_calls(program):
            if entry_calls.argument_value(entry, "device_assignment") != NONE:
                continue
            certainty = entry_calls.certainty_if(entry)
            count = entry_calls.replicas(entry) or 0
            core = next((call for call in entry.calls if _core(call) > 0), None)
            if core is not None:
                message = (
                    f"core {_core(core)} is used, but no `device_assignment` assigns it to a"
                    " replica; pass one"
                )
                # A host cluster takes its operations off the core again: what is left is not known.
                if entry.clusters or not core.context.reached_whenever(entry.context):
                    certainty = Certainty.POSSIBLE
            elif count > 1 and count % 2 == 1:
                message = (
                    f"{count} replicas do not fill a whole topology: pass a `device_assignment`"
                )
            else:
                continue
            report(entry.site.span, message, certainty=certainty)


def _core(call: ApiCall) -> int:
    """Return the number in `tpu.core(number)` in device code, 0 where it is none."""
    if call.last != "core" or not call.context.on_device:
        return 0
    return entry_calls.constant_int(call.value("num", 0)) or 0
