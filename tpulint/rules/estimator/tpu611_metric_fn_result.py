"""TPU611: a metric_fn returns something else than pairs of a value and an update operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tpulint.absint.domain.events import Cluster, Computation, Tensor
from tpulint.absint.domain.objects import ExternalObject, Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, Const, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge.tf_names import GIVES_ONE_TENSOR, is_tensorflow
from tpulint.queries.certainty import definite_if, is_in_every_trace
from tpulint.queries.entry_calls import host_calls, surely_uses_tpu
from tpulint.rules.base import Program, Report, Rule, Severity, register

# tensorflow_estimator/python/estimator/model_fn.py: `LOSS_METRIC_KEY`.
LOSS = "loss"


PAIRS = (
    "return a dictionary of pairs of value and update operation, as `tf.metrics.mean` and its kind"
    " make"
)
OTHER_NAME = "Estimator has a metric of this name already: give it another name"


class MetricFault(NamedTuple):
    """What a metric_fn returns for a metric. only_on_tpu: on a CPU, TensorFlow takes it."""

    words: str
    only_on_tpu: bool = False
    advice: str = PAIRS


@register
class MetricFnResult(Rule):
    code = "TPU611"
    name = "metric-fn-result"
    severity = Severity.ERROR
    summary = "a metric_fn whose result is no pair of value and update operation"

    def check(self, program: Program, report: Report) -> None:
        for computation, cluster in host_calls(program):
            if cluster.kind != "eval_metrics" or cluster.result is None:
                continue
            on_tpu = surely_uses_tpu(computation.call) and not computation.host_modes
            in_every_trace = is_in_every_trace(computation, cluster.context)
            results = cluster.result.options
            for result in results:
                for site, fault, is_sure in faults_of(program, computation, cluster, result):
                    report(
                        site.span,
                        f"{traces.callee_name(cluster.callee)} returns {fault.words}:"
                        f" {fault.advice}",
                        certainty=definite_if(
                            len(results) == 1,
                            is_sure,
                            on_tpu if fault.only_on_tpu else in_every_trace,
                            not cluster.context.is_guess,
                        ),
                        trace=(
                            *traces.device_path(computation, cluster.context),
                            traces.host_step(cluster.named, "computes the metrics"),
                            traces.host_step(site, f"returns {fault.words}"),
                        ),
                    )


def faults_of(
    program: Program, computation: Computation, cluster: Cluster, result: Value
) -> Iterator[tuple[Site, MetricFault, bool]]:
    """Yield what is wrong in a result of a metric_fn, where, and whether it always is."""
    if not isinstance(result, Mapping):
        single = result_of_no_name(program, computation, result)
        if single:
            yield cluster.named, MetricFault(f"no dictionary of metrics, but a {single}"), True
        return
    for key, value in result.items.items():
        faults = [fault_of(program, computation, key, option) for option in value.options]
        fault = next(filter(None, faults), None)
        if fault is not None:
            named = fault._replace(words=f"{fault.words} for `{key}`")
            yield _site_of(cluster, result, key, value), named, None not in faults


# tpu_estimator.py, `_call_model_fn`: `eval_metric_ops.values()`
def result_of_no_name(program: Program, computation: Computation, result: Value) -> str:
    """Return what a metric_fn gives in place of a dictionary; "" where it may be one."""
    if isinstance(result, Sequence):
        return result.kind
    if is_one_tensor(program, computation, result):
        return "tensor"
    paths = [call.path for call in program.by_result.get(id(result), ())]
    is_metric = any(_is_metric(path) and is_tensorflow(path) for path in paths)
    return "metric without a name" if is_metric else ""


def _site_of(cluster: Cluster, metrics: Mapping, key: object, value: Value) -> Site:
    """Return where a metric is put into the dictionary, or made, or the dictionary is."""
    place = metrics.places.get(key, -1)
    if metrics.site is not None and place >= 0:
        return metrics.site.module.site(place)
    if isinstance(value, Tensor) and value.made is not None and cluster.is_around(value.made):
        return value.site or cluster.named
    return metrics.site or cluster.named


def fault_of(
    program: Program, computation: Computation, key: object, value: Value
) -> MetricFault | None:
    """Return what is wrong with a metric; None where it may be a pair."""
    if is_one_tensor(program, computation, value):
        return MetricFault("a tensor")
    if value == NONE:
        return MetricFault("None")
    if isinstance(value, Const) and isinstance(value.value, (bool, int, float)):
        return MetricFault("a number")
    if isinstance(value, Sequence) and not value.open and len(value.items) < 2:
        return MetricFault(f"a {value.kind} of {len(value.items)}")
    if isinstance(value, ExternalObject):
        module, _, name = value.path.rpartition(".")
        if f".{module}".endswith(".keras.metrics") and name[:1].isupper():
            return MetricFault("a Keras metric, which only a CPU evaluates,", only_on_tpu=True)
    if key == LOSS and isinstance(value, (Tensor, Sequence)):
        return MetricFault("a metric", advice=OTHER_NAME)
    return None


def is_one_tensor(program: Program, computation: Computation, value: Value) -> bool:
    """Return whether the value certainly is a tensor, and no pair of some.

    What a call returns is a tensor if the call is known to give one, or if it is a part of the
    pair that a function of `tf.metrics` returns.
    """
    if isinstance(value, ExternalObject):  # `metric.result()` of Keras
        return value.last == "result" and ".keras.metrics." in f".{value.path}"
    if not isinstance(value, Tensor) or value.sort != "tensor":
        return False
    if value.single:
        return True
    calls = program.by_result.get(id(value), ())
    if calls:
        return all(call.last in GIVES_ONE_TENSOR and not _is_metric(call.path) for call in calls)
    return any(call.site == value.site and _is_metric(call.path) for call in computation.calls)


def _is_metric(path: str) -> bool:
    return ".metrics." in path and ".keras." not in path
