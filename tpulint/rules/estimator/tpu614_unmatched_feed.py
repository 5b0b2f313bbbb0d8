"""TPU614: more is taken from an infeed or an outfeed than is put in."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.queries.starvation import FEEDS, INFEED, Starvation, shortages
from tpulint.rules.base import Program, Report, Rule, Severity, register


@register
class UnmatchedFeed(Rule):
    code = "TPU614"
    name = "unmatched-feed"
    severity = Severity.ERROR
    summary = "an infeed or outfeed from which more is taken than is put in"

    def check(self, program: Program, report: Report) -> None:
        for shortage in shortages(program):
            transfer = shortage.transfer
            if transfer.store not in FEEDS:
                continue
            computation = transfer.computation
            lane = HOST_LANE if computation is None else DEVICE_LANE
            report(
                transfer.call.site.span,
                message(shortage),
                certainty=definite_if(
                    computation is None or is_on_tpu(computation, transfer.call.context)
                ),
                trace=(
                    *([] if computation is None else [traces.entry(computation)]),
                    traces.step(lane, transfer.call.site, f"takes from the {transfer.store}"),
                    traces.host_step(shortage.run.site, "waits for it for ever"),
                ),
            )


def message(shortage: Starvation) -> str:
    feed, taken, put = shortage.transfer.store, shortage.taken, shortage.put
    is_infeed = feed == INFEED
    taker, giver = ("device", "host") if is_infeed else ("host", "device")
    if shortage.is_later:
        return (
            f"the {taker} waits here for the {feed}, which the {giver} fills only after that:"
            " the step never ends; do not make what fills it wait for what takes from it"
        )
    advice = (
        "call the enqueue operation as often as the device takes, for each core"
        if is_infeed
        else "ask for no more than the steps before have sent"
    )
    if not put:
        return f"the {taker} waits here for the {feed}, and nothing fills it; {advice}"
    times = "once" if put == 1 else f"{put:,} times"
    return (
        f"the {taker} takes from the {feed} {taken:,} times, which the {giver} fills {times}:"
        f" the step never ends; {advice}"
    )
