"""TPU504: a dtype that the TPU lacks, or has no units for, in device code."""

from __future__ import annotations

from tpulint.analysis.domain.events import Argument
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.structures import distinguished
from tpulint.analysis.domain.values import External
from tpulint.diagnostics.trace_steps import path_to_site
from tpulint.finding import Applicability, Certainty, Edit, Fix, Location
from tpulint.knowledge.operations import dtypes, lacks
from tpulint.queries.branch_tests import asks_for_dtype
from tpulint.queries.device_code import certainty, compiled_calls, placed_softly
from tpulint.rules.base import Report
from tpulint.rules.tpu504_dtypes import SLOW, asked_dtypes
from tpulint.rules.tpu504_policies import check_policies
from tpulint.rules.tpu504_transfers import check_transfers


def check(program: Program, report: Report) -> None:
    _check_calls(program, report)
    _check_kernels(program, report)
    _check_inputs(program, report)
    check_transfers(program, report)
    check_policies(program, report)


def _check_calls(program: Program, report: Report) -> None:
    for computation, call in compiled_calls(program):
        for argument, dtype in asked_dtypes(call):
            lacking = dtype not in dtypes()
            if not lacking and asks_for_dtype(call.context):
                continue
            sure = certainty(program, computation, call.context)
            site = call.site if argument is None else argument.site
            why = "which no TPU supports" if lacking else SLOW[dtype][0]
            joint = ", " if lacking else ": "
            report(
                site.span,
                f"`{call.last}` makes a {dtype} on the device{joint}{why}",
                certainty=sure if lacking else Certainty.POSSIBLE,
                trace=path_to_site(
                    computation, call.context, call.site, f"makes a {dtype} on the device"
                ),
                fix=_fix(argument, dtype) if argument is not None else None,
            )


def _check_kernels(program: Program, report: Report) -> None:
    """Tensors whose dtype is seen, given to what has a kernel for others only."""
    for computation, call in compiled_calls(program):
        missing = lacks(call.path)
        for argument in call.arguments[:1] if missing else ():
            for tensor, alternative in distinguished(argument.value):
                if tensor.dtype in missing:
                    sure = certainty(program, computation, call.context)
                    what = f"`{call.last}` has no TPU kernel for {tensor.dtype}"
                    report(
                        call.site.span,
                        what,
                        certainty=Certainty.POSSIBLE if alternative else sure,
                        trace=path_to_site(computation, call.context, call.site, what),
                    )


def _check_inputs(program: Program, report: Report) -> None:
    """Check the values given to the computation whose dtype is seen."""
    for computation in program.computations:
        if placed_softly(program, computation):
            continue
        for argument in computation.call.arguments:
            for tensor, alternative in distinguished(argument.value):
                if tensor.dtype in ("string", "complex128"):
                    sure = certainty(program, computation, computation.context)
                    report(
                        argument.site.span,
                        f"a {tensor.dtype} is given to the computation: no TPU supports that dtype",
                        certainty=Certainty.POSSIBLE if alternative else sure,
                        trace=path_to_site(
                            computation,
                            computation.context,
                            argument.site,
                            f"a {tensor.dtype} enters the device",
                        ),
                    )


def _fix(argument: Argument, dtype: str) -> Fix | None:
    """Write the dtype that is meant."""
    new = SLOW[dtype][1] if dtype in SLOW else None
    end = argument.site.span.end
    start = Location(end.row, end.column - len(dtype))
    spelled = isinstance(argument.value, External) and argument.value.last == dtype
    if new is None or not spelled or start.column < argument.site.span.start.column:
        return None
    if dtype == "float64":
        return None  # the precision is asked for on purpose
    return Fix(Applicability.UNSAFE, f"write `{new}`", (Edit(start, end, new),))
