"""TPU601: host_call closes over a tensor of model_fn instead of taking it as an argument."""

from __future__ import annotations

from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge.tf_names import SENT
from tpulint.queries.certainty import on_tpu_if
from tpulint.queries.entry_calls import host_calls
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register

STRUCTURAL = ("flatten",)  # tf.nest: only the shape


@register
class HostCallCapturesTensor(Rule):
    code = "TPU601"
    name = "host-call-captures-tensor"
    severity = Severity.ERROR
    summary = "host_call closes over a tensor of model_fn"

    def check(self, program: Program, report: Report) -> None:
        for computation, cluster in host_calls(program):
            for use in cluster.receives:
                # What is sent by the tuple of `host_call` itself is no capture.
                if use.tensor.sort == "unseen" or use.taker in (SENT, *STRUCTURAL):
                    continue
                culprit = traces.in_calls(computation.calls, use.site, use.tensor)
                is_named = culprit.name and not culprit.is_holder
                named = f"`{culprit.name}`, a tensor" if is_named else "a tensor"
                trace = [traces.entry(computation)]
                # For a parameter, the first step is enough.
                if use.tensor.site is not None and use.tensor.site != computation.site:
                    trace.append(traces.device_step(use.tensor.site, "is made on the device"))
                trace += traces.into_cluster(cluster, use.context)
                trace.append(traces.host_step(use.site, "is used on the host, but was not passed"))
                report(
                    culprit.span,
                    f"{traces.callee_name(cluster.callee)} uses {named} of the TPU computation, but"
                    f" `{cluster.kind}` does not pass it to the host: add it to the tensors of"
                    f" `{cluster.kind}`",
                    certainty=on_tpu_if(
                        computation,
                        use.context,
                        use.certainty is Certainty.DEFINITE,
                        not use.alternative,
                    ),
                    trace=tuple(trace),
                )
