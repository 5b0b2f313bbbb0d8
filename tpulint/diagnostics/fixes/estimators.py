"""Fixes of what a TPUEstimator is given."""

from __future__ import annotations

from tpulint.analysis.domain.events import ApiCall
from tpulint.analysis.domain.objects import ExternalObject
from tpulint.analysis.domain.site import Module, Site
from tpulint.diagnostics.fixes.imported_name import first_api_in, tensorflow_in
from tpulint.finding import Applicability, Fix, Span

UNSAFE = Applicability.UNSAFE
WRAPPER = "CrossShardOptimizer"
# tensorflow_estimator/python/estimator/tpu/tpu_estimator.py: the fields of TPUEstimatorSpec.
FIELDS = frozenset(
    (
        "mode",
        "predictions",
        "loss",
        "train_op",
        "eval_metrics",
        "export_outputs",
        "scaffold_fn",
        "host_call",
        "training_hooks",
        "evaluation_hooks",
        "prediction_hooks",
    )
)


def in_cross_shard_optimizer(optimizer: object, update: Site) -> Fix | None:
    """Return the fix that wraps an optimizer where it is made, in the file of its update."""
    if not isinstance(optimizer, ExternalObject) or optimizer.site is None:
        return None
    made = optimizer.site
    api = first_api_in(made.module)
    if api is None or made.module is not update.module:
        return None
    from tpulint.diagnostics.fixes.calls import call_wrapped

    edits = call_wrapped(made, f"{api}.tpu.{WRAPPER}")
    return None if edits is None else Fix(UNSAFE, f"wrap it in `{WRAPPER}`", edits)


def with_batch_dimension(module: Module, span: Span) -> Fix | None:
    """Return the fix that gives a scalar a dimension of one; none for a list that holds it."""
    tf = tensorflow_in(module)
    if tf is None:
        return None
    from tpulint.diagnostics.fixes.calls import scalar_wrapped

    edits = scalar_wrapped(module, span, f"{tf}.reshape", "[1]")
    return None if edits is None else Fix(UNSAFE, "reshape it to `[1]`", edits)


def for_tpus(specification: ApiCall) -> Fix | None:
    """Return the fix that makes a TPUEstimatorSpec of an EstimatorSpec with the same fields."""
    arguments = specification.arguments
    api = first_api_in(specification.site.module)
    positional = [each for each in arguments if each.keyword is None]
    named = {each.keyword for each in arguments if each.keyword is not None}
    # `mode`, `predictions`, `loss` and `train_op` come first in both, in this order.
    if api is None or len(positional) > 4 or any(each.star for each in arguments):
        return None
    if not named <= FIELDS:
        return None
    from tpulint.diagnostics.fixes.calls import called_by_name

    edits = called_by_name(specification.site, f"{api}.estimator.tpu.TPUEstimatorSpec")
    return None if edits is None else Fix(UNSAFE, "make a `TPUEstimatorSpec`", edits)


def of_one_size(batch: ExternalObject) -> Fix | None:
    """Return the fix that drops a smaller last batch."""
    if batch.site is None:
        return None
    from tpulint.diagnostics.fixes.calls import with_keyword

    edits = with_keyword(batch.site, "drop_remainder", "True")
    return None if edits is None else Fix(UNSAFE, "drop the smaller last batch", edits)
