"""Keras' policies of mixed precision."""

from __future__ import annotations

from tpulint.analysis.domain.events import ApiCall, Argument, Computation
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.values import Const
from tpulint.analysis.domain.written_tests import is_for_gpu, leaves_tpu
from tpulint.finding import Certainty
from tpulint.knowledge import seam
from tpulint.queries.branch_tests import asks_for_dtype, is_handler
from tpulint.queries.processes import may_share_a_process, starts_of
from tpulint.rules.base import Report
from tpulint.rules.tpu504_dtypes import SLOW

POLICIES = frozenset(["set_global_policy", "set_policy", "Policy"])
MIXED = "mixed_float16"


def check_policies(program: Program, report: Report) -> None:
    """Keras' mixed precision in float16, in a program that makes a TPU's strategy."""
    trainings = {start for each, start in starts_of(program.computations) if _is_a_tpus(each)}
    if not trainings:
        return
    for call, start in starts_of(each for each in program.all_calls() if _sets_mixed(each)):
        if is_handler(call.context) or asks_for_dtype(call.context):
            continue
        if is_for_gpu(call.context) or leaves_tpu(call.context):
            continue
        if _has_no_tpu(program, call):
            continue
        policy = _policy(call)
        if policy and any(may_share_a_process(program, start, each) for each in trainings):
            report(
                policy.site.span,
                f"`{MIXED}` is for GPUs: {SLOW['float16'][0]}; use `mixed_bfloat16`",
                certainty=Certainty.POSSIBLE,
            )


def _sets_mixed(call: ApiCall) -> bool:
    if call.last not in POLICIES or "mixed_precision" not in call.path:
        return False
    policy = _policy(call)
    return policy is not None and policy.value == Const(MIXED)


def _policy(call: ApiCall) -> Argument | None:
    return call.argument("name", 0) or call.argument("policy", 0)


def _has_no_tpu(program: Program, call: ApiCall) -> bool:
    """Return whether each TPUStrategy of the same run is made in the other branch of a test."""
    made = [
        each.context.excludes(call.context)
        for each in program.all_calls()
        if each.last in seam.TPU_STRATEGIES and each.context.run == call.context.run
    ]
    return bool(made) and all(made)


def _is_a_tpus(computation: Computation) -> bool:
    return computation.mode == "function" and computation.certainty is Certainty.DEFINITE
