"""TPU610: a TPUEstimator does not get the batch size of what it is used for."""

from __future__ import annotations

from tpulint.absint.domain.events import ApiCall
from tpulint.absint.domain.values import NONE
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge.tf_names import BATCH_SIZES, is_tensorflow
from tpulint.queries import entry_calls
from tpulint.queries.certainty import definite_if
from tpulint.rules.base import Program, Report, Rule, Severity, register


@register
class MissingBatchSize(Rule):
    code = "TPU610"
    name = "missing-batch-size"
    severity = Severity.ERROR
    summary = "a TPUEstimator without the batch size of what it is used for"

    def check(self, program: Program, report: Report) -> None:
        for estimator in program.all_named(["TPUEstimator"]):
            # A copy of the class in a project has sizes of its own.
            if not is_tensorflow(estimator.path):
                continue
            # One that gets no size at all may be made by another function, which adds them.
            has_others = any(
                estimator.value(*BATCH_SIZES[use]) not in (None, NONE)
                for use in ("evaluate", "predict")
            )
            if entry_calls.may_use_tpu(estimator) and lacks(estimator, "train") and has_others:
                report(
                    estimator.site.span,
                    "`train_batch_size` is missing: on a TPU, the constructor raises a ValueError"
                    " without it, even if nothing is trained; pass it",
                    certainty=definite_if(
                        entry_calls.surely_uses_tpu(estimator), not estimator.context.is_guess
                    ),
                )
        for feed, maker in entry_calls.fed_estimators(program):
            use = feed.kind
            # The constructor checks the size for training.
            is_checked = use in ("evaluate", "predict") and is_tensorflow(maker.path)
            if is_checked and lacks(maker, use):
                keyword, _ = BATCH_SIZES[use]
                report(
                    feed.site.span,
                    f"`{keyword}` is missing: on a TPU, `{use}` raises a ValueError without it;"
                    " pass it to TPUEstimator",
                    certainty=definite_if(
                        entry_calls.surely_used(maker, feed.context),
                        use != "evaluate" or not entry_calls.may_evaluate_elsewhere(maker),
                    ),
                    trace=(
                        traces.host_step(maker.site, f"gets no `{keyword}`"),
                        traces.host_step(feed.site, "needs it"),
                    ),
                )


def lacks(estimator: ApiCall, use: str) -> bool:
    """Return whether the size for `use` certainly is not given: `**kwargs` may hold it."""
    size = estimator.value(*BATCH_SIZES[use])
    return not estimator.is_starred if size is None else size == NONE
