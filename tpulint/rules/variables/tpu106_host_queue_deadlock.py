"""TPU106: a host cluster waits in a queue for what comes too late, or never."""

from __future__ import annotations

from tpulint.absint.domain.events import Variable
from tpulint.diagnostics import traces
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.queries.starvation import Starvation, shortages
from tpulint.rules.base import Program, Report, Rule, Severity, register


@register
class HostQueueDeadlock(Rule):
    code = "TPU106"
    name = "host-queue-deadlock"
    severity = Severity.ERROR
    summary = "a host cluster waits in a queue for what is put or taken too late"

    def check(self, program: Program, report: Report) -> None:
        for shortage in shortages(program):
            transfer = shortage.transfer
            cluster = transfer.call.context.cluster
            computation, queue = transfer.computation, transfer.store
            if computation is None or cluster is None or not isinstance(queue, Variable):
                continue
            waits = "waits for room in" if shortage.is_of_room else "waits in"
            report(
                transfer.call.site.span,
                message(shortage, traces.callee_name(cluster.callee), queue.name),
                certainty=definite_if(is_on_tpu(computation, transfer.call.context)),
                trace=traces.into_host(computation, transfer.call, f"{waits} `{queue.name}`"),
            )


def message(shortage: Starvation, host: str, queue: str) -> str:
    if shortage.is_of_room:
        holds = "one element" if shortage.put == 1 else f"{shortage.put:,} elements"
        return (
            f"{host} waits for room in `{queue}`, which holds {holds} and from which nothing is"
            " taken before: deadlock; give the queue a larger capacity, or take from it first"
        )
    if shortage.is_later:
        return (
            f"{host} waits in `{queue}` for what is put there only after it: deadlock;"
            " move that before it"
        )
    if shortage.put:
        return (
            f"{host} waits in `{queue}` for {shortage.taken:,} elements, and at most"
            f" {shortage.put:,} are put there: deadlock; call `enqueue` for each that is taken"
        )
    return (
        f"{host} waits in `{queue}`, where nothing is put: deadlock; call `enqueue` before the step"
    )
