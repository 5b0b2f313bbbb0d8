"""Calls that certainly give scalars: reductions over everything, losses, decays.

The facts: tensorflow/python/ops/math_ops.py (reductions), ops/losses/losses_impl.py (the
losses of TensorFlow 1 reduce to one number unless told `Reduction.NONE`),
training/learning_rate_decay.py.
"""

from __future__ import annotations

from tpulint.absint.domain.events import ApiCall
from tpulint.absint.domain.objects import Sequence
from tpulint.absint.domain.properties import is_scalar, of_scalars
from tpulint.absint.domain.values import NONE, Const, External, Value


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


REDUCTIONS = _words(
    """
    reduce_mean reduce_sum reduce_max reduce_min reduce_prod reduce_all reduce_any
    reduce_logsumexp
    """
)
ALWAYS = _words("l2_loss global_norm size rank trace")
LOSSES = _words(
    """
    sparse_softmax_cross_entropy softmax_cross_entropy sigmoid_cross_entropy log_loss
    absolute_difference compute_weighted_loss mean_pairwise_squared_error hinge_loss
    cosine_distance get_total_loss get_regularization_loss
    """
)
LOSSES_OF_V1 = _words("mean_squared_error huber_loss")
DECAYS = _words(
    """
    exponential_decay polynomial_decay inverse_time_decay natural_exp_decay cosine_decay
    cosine_decay_restarts linear_cosine_decay noisy_linear_cosine_decay
    """
)
# Element by element: of scalars they make a scalar.
ELEMENTWISE = _words(
    """
    add subtract multiply divide maximum minimum add_n pow square sqrt rsqrt exp log log1p
    abs negative sigmoid tanh softplus floor ceil round to_float stop_gradient is_nan
    is_finite logical_and logical_or logical_not truediv div div_no_nan realdiv
    to_int32 to_int64 to_double to_bfloat16 greater greater_equal less less_equal equal not_equal
    """
)
SELECTS = _words("where where_v2 select")  # of three scalars


def gives_scalar(call: ApiCall) -> bool:
    """Return whether this operation of TensorFlow's certainly gives a scalar."""
    name = call.last
    if name in REDUCTIONS:
        return _reduces_all(call)
    if (name in LOSSES or name in LOSSES_OF_V1) and ".losses." in call.path:
        return _is_reduced_loss(call)
    if name in DECAYS and ".train." in call.path:
        step = call.argument("global_step", 1)
        return step is not None and is_scalar(step.value)
    if name in ELEMENTWISE:
        plain = [each.value for each in call.arguments if each.keyword in (None, "x", "y")]
        items = [item for each in plain for item in _opened(each)]
        return of_scalars(items)
    if name in SELECTS:
        items = [each.value for each in call.arguments if each.keyword != "name"]
        return len(items) == 3 and of_scalars(items)
    return name in ALWAYS and call.receiver is None


def _opened(value: Value) -> list[Value]:
    """Return the items of a list that is given to `add_n`."""
    return value.items if isinstance(value, Sequence) else [value]


def _reduces_all(call: ApiCall) -> bool:
    """No axis is named, and the dimensions are not kept."""
    if any(each.star for each in call.arguments):
        return False
    for keyword, position in (("axis", 1), ("reduction_indices", None)):
        axis = call.argument(keyword, position)
        if axis is not None and axis.value != NONE:
            return False
    kept = call.argument("keepdims", 2) or call.argument("keep_dims")
    return kept is None or kept.value == Const(False)


def _is_reduced_loss(call: ApiCall) -> bool:
    """Return whether this is a loss of TensorFlow 1 with its own reduction."""
    if "keras" in call.path or (call.last in LOSSES_OF_V1 and ".v1." not in call.path):
        return False
    reduction = call.argument("reduction")
    if reduction is None:
        return not any(each.star for each in call.arguments)
    named = reduction.value
    return isinstance(named, External) and "Reduction." in named.path and named.last != "NONE"
